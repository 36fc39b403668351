"""The software paper cites what it lists, and says what the package says."""

import re
from pathlib import Path

import gradone as gd
from gradone.base.references import references

PAPER = Path(__file__).parents[2] / "paper"
TEXT = (PAPER / "paper.md").read_text(encoding="utf-8")
LISTED = (PAPER / "paper.bib").read_text(encoding="utf-8")


def test_the_paper_cites_what_it_lists():
    cited = set(re.findall(r"@([a-z]+\d{4}[a-z]+)", TEXT))
    assert set(re.findall(r"^@\w+\{([^,]+),", LISTED, re.MULTILINE)) == cited


def test_its_references_are_those_of_the_package():
    entries = {entry.partition("{")[2].partition(",")[0]: entry for entry in LISTED.split("\n\n")}
    shared = entries.keys() & references().keys()
    assert len(shared) >= 10
    assert all(entries[key].strip() == references()[key].bibtex for key in shared)


def test_the_paper_has_the_parts_and_the_length_that_the_journal_wants():
    for title in ("Summary", "Statement of need", "State of the field", "References"):
        assert f"\n# {title}\n" in TEXT
    body = TEXT.split("---", 2)[2]
    assert 250 <= len(body.split()) <= 1000


def test_its_figure_and_its_count_of_claims_are_true():
    (picture,) = re.findall(r"\]\((\S+\.png)\)", TEXT)
    assert (PAPER / picture).exists()
    assert f"{len(gd.atlas())} theorems" in TEXT
