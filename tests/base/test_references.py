"""The list of papers, and the citation of keys, objects and targets."""

import re
import subprocess
import sys
from importlib.resources import files

import pytest

import gradone as gd
from gradone.base.references import Reference, cite, cited_keys, read_bibtex, references

FILE = files("gradone.base").joinpath("references.bib").read_text(encoding="utf-8")
UNCHECKED = {"mondelli2017weak", "lu2017spectral", "maillard2020phase", "saad1995online"}
UNCHECKED |= {"rudi2016rf", "li1991sliced", "cook1991comment", "li1992hessian"}


@pytest.fixture(params=list(references().values()), ids=list(references()))
def paper(request):
    return request.param


def test_paper_is_complete(paper):
    assert re.fullmatch(r"[a-z]+(19|20)\d\d[a-z]+", paper.key)
    assert str(paper.year) in paper.key
    assert paper.title
    assert "{" not in paper.text
    assert all(author and author[0].isupper() for author in paper.authors)
    assert all("," in name for name in paper.fields["author"].split(" and "))


def test_identifier_is_that_of_arxiv(paper):
    assert paper.arxiv is None or re.fullmatch(r"\d{4}\.\d{5}", paper.arxiv)


def test_unchecked_papers_are_cited_without_an_identifier():
    """Would catch: an identifier that nobody looked up."""
    assert {key for key, paper in references().items() if not paper.arxiv} == UNCHECKED


def test_first_author_is_in_the_key(paper):
    ascii_name = re.sub(r"[^a-z]", "", paper.authors[0].lower())
    assert paper.key.startswith(ascii_name)


def test_file_is_what_the_entries_write():
    assert "\n\n".join(paper.bibtex for paper in references().values()) + "\n" == FILE


def test_key_gives_one_line_or_one_entry():
    assert cite("ba2022onestep") == (
        "Ba, Erdogdu, Suzuki, Wang, Wu, Yang (2022). High-dimensional asymptotics of feature "
        "learning: how one gradient step improves the representation. arXiv:2205.01445."
    )
    entry = cite("ba2022onestep", format="bibtex")
    assert entry in FILE
    assert read_bibtex(entry)["ba2022onestep"] == references()["ba2022onestep"]


class Theory:
    cites = ("mei2019rf", "gerace2020rf")


def method():
    pass


method.cites = "mei2019rf"


@pytest.mark.parametrize(
    ("thing", "keys"),
    [
        (Theory, Theory.cites),
        (Theory(), Theory.cites),
        (method, ("mei2019rf",)),
        ("mei2019rf", ("mei2019rf",)),
        ("parity3", ("troiani2024limits", "abbe2023leap", "damian2025leap")),
    ],
)
def test_anything_that_names_its_sources_can_be_cited(thing, keys):
    assert cited_keys(thing) == keys
    assert cite(thing).splitlines() == [references()[key].text for key in keys]


def test_target_of_the_zoo_is_cited_however_it_is_typed():
    assert gd.cite(gd.zoo("parity3")) == gd.cite(gd.Target("sign(z3*z1*z2)"))
    assert "arXiv:2502.13961" in gd.cite(gd.zoo("sight"))


def test_a_typed_target_is_found_although_nobody_has_opened_the_zoo():
    code = "import gradone as gd; print(gd.cite(gd.Target('sign(z1*z2)')))"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert "2405.15480" in run.stdout


def test_noise_makes_another_target():
    assert gd.cite(gd.Target("max(z1, z2)", noise=0.1))
    with pytest.raises(gd.BadData, match=r"no references are known for Target\('max\(z1, z2\)'\)"):
        gd.cite(gd.Target("max(z1, z2)"))


@pytest.mark.parametrize(
    ("thing", "message"),
    [
        ("ba2022onestp", "Did you mean 'ba2022onestep'"),
        ("parity33", "Did you mean 'parity3'"),
        ("?", "no reference and no target of the zoo"),
        (3.0, "no references are known for 3.0"),
        ([1, 2], "no references are known for"),
        (type("Wrong", (), {"cites": ("mei2019r",)}), "unknown reference 'mei2019r'. Did you mean"),
    ],
)
def test_mistake_is_named(thing, message):
    with pytest.raises(gd.BadData, match=re.escape(message)):
        cite(thing)


def test_unknown_format():
    with pytest.raises(gd.BadData, match="Known: text, bibtex"):
        cite("mei2019rf", format="html")


ENTRY = Reference("doe2020a", "misc", {"author": "Doe, Jane", "title": "A", "year": "2020"}).bibtex


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (ENTRY + "\n\n" + ENTRY, "listed twice"),
        (ENTRY.replace("  year = {2020},\n", ""), "cannot be read"),
        (ENTRY.replace("{2020},", "2020,"), "cannot be read"),
        (ENTRY.replace("  year", "  title"), "cannot be read"),
        (ENTRY + "\n\n@misc{doe2021b, author = {Doe}}", "2 entries begin with '@' but only 1"),
    ],
)
def test_other_forms_of_bibtex_are_refused(text, message):
    with pytest.raises(gd.BadData, match=message):
        read_bibtex(text)
