"""Parts of the site that the package knows better than we do: references, figures, claims, zoo.

``{cite}`` in a page links a key of `gradone.base.references` to the list of references; the
directives ``reference-list``, ``figure-table``, ``atlas-table`` and ``zoo-table`` print the
tables. Docstrings of properties are protected from a rule of napoleon that is not ours.
"""

import re
from collections import Counter
from pathlib import Path

from docutils import nodes
from sphinx import addnodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

from gradone import zoo
from gradone.base.references import Reference, references
from gradone.charts import plain_text
from gradone.gallery import FIGURES, Number, atlas

logger = logging.getLogger(__name__)


def labels() -> dict[str, str]:
    """Author and year of every reference; a letter where several would read the same."""
    plain = {key: _author_year(paper) for key, paper in references().items()}
    count, seen, found = Counter(plain.values()), Counter(), {}
    for key, label in plain.items():
        found[key] = label + (chr(ord("a") + seen[label]) if count[label] > 1 else "")
        seen[label] += 1
    return found


def _author_year(paper: Reference) -> str:
    first, *others = paper.authors
    names = f"{first} et al." if len(others) > 1 else " and ".join([first, *others])
    return f"{names} {paper.year}"


def link(key: str, docname: str) -> nodes.Node:
    """Link to an entry of the list of references."""
    options = {"refdomain": "std", "reftype": "ref", "refexplicit": True, "refwarn": True}
    xref = addnodes.pending_xref("", reftarget=f"ref-{key}", refdoc=docname, **options)
    xref += nodes.inline("", labels()[key])
    return xref


class Cite(SphinxRole):
    """Links to one or more references, keys separated by commas."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Make the links."""
        found: list[nodes.Node] = []
        for key in map(str.strip, self.text.split(",")):
            if key not in references():
                logger.warning("unknown reference '%s'", key, location=self.get_location())
                continue
            found += [nodes.Text(", ")] * bool(found) + [link(key, self.env.docname)]
        return found, []


class ReferenceList(SphinxDirective):
    """Every paper of the package."""

    def run(self) -> list[nodes.Node]:
        """Make one entry for each paper and register its label."""
        entries = nodes.definition_list()
        names = labels()
        for key, paper in sorted(references().items(), key=lambda item: names[item[0]]):
            target = f"ref-{key}"
            self.env.domains["std"].anonlabels[target] = (self.env.docname, target)
            term = nodes.term("", names[key] + "  ", nodes.literal("", key), ids=[target])
            text = nodes.paragraph("", f"{', '.join(paper.authors)}. ")
            text += nodes.emphasis("", paper.title)
            text += nodes.Text(". ")
            if paper.arxiv:
                address = f"https://arxiv.org/abs/{paper.arxiv}"
                text += nodes.reference("", f"arXiv:{paper.arxiv}", refuri=address)
            else:
                text += nodes.Text(paper.fields.get("journal", ""))
            entries += nodes.definition_list_item("", term, nodes.definition("", text))
        return [entries]


class ZooTable(SphinxDirective):
    """The targets of the zoo, one table for each section."""

    def run(self) -> list[nodes.Node]:
        """Make the tables."""
        found: list[nodes.Node] = []
        for section, entries in zoo().sections().items():
            found += [nodes.rubric("", section.capitalize()), nodes.definition_list()]
            for entry in entries:
                noise = f"  (noise {entry.noise:g})" if entry.noise else ""
                formula = nodes.literal("", entry.formula)
                term = nodes.term("", "", nodes.strong("", entry.name), nodes.Text("  "), formula)
                term += nodes.Text(noise)
                text = nodes.paragraph("", f"{entry.shows[0].upper()}{entry.shows[1:]}. ")
                for i, key in enumerate(entry.cites):
                    text += [nodes.Text(", ")] * bool(i) + [link(key, self.env.docname)]
                found[-1] += nodes.definition_list_item("", term, nodes.definition("", text))
        return found


class FigureTable(SphinxDirective):
    """The figures of the gallery: what to see in each, and where it comes from."""

    def run(self) -> list[nodes.Node]:
        """Make the list."""
        found = nodes.definition_list()
        for name in FIGURES:
            figure = FIGURES[name]
            text = nodes.paragraph("", f"{plain_text(figure.sentence)} ")
            for i, key in enumerate(figure.cites):
                text += [nodes.Text(", ")] * bool(i) + [link(key, self.env.docname)]
            budget = f"  {figure.budget['small']:.0f} s at most"
            term = nodes.term("", "", nodes.strong("", name), nodes.Text(budget))
            body = nodes.definition("", text)
            picture = Path(self.env.srcdir) / "_static" / "figures" / f"{name}.png"
            if picture.exists():
                body += nodes.image(uri=f"/_static/figures/{name}.png", alt=figure.title)
            found += nodes.definition_list_item("", term, body)
        return [found]


class AtlasTable(SphinxDirective):
    """The claims of the literature, by family, with the verdicts of the last check."""

    def run(self) -> list[nodes.Node]:
        """Make one list for each family, after a line that says when it was checked."""
        claims, last = atlas(), atlas().recorded()
        count = Counter(row["verdict"] for row in last["claims"].values())
        words = ", ".join(f"{number} {word}" for word, number in count.items())
        head = f"{len(claims)} claims, checked on {last['date']} with gradone {last['version']}: "
        found: list[nodes.Node] = [nodes.paragraph("", f"{head}{words}.")]
        for family, entries in claims.families().items():
            found += [nodes.rubric("", family.capitalize()), nodes.definition_list()]
            for entry in entries:
                found[-1] += self._item(entry, last["claims"][entry.name])
        return found

    def _item(self, entry, row) -> nodes.Node:
        name = nodes.strong("", entry.name)
        term = nodes.term("", "", name, nodes.Text(f"  {entry.kind}: {row['verdict']}"))
        text = nodes.paragraph("", f"{entry.statement} ")
        for i, key in enumerate(entry.cites):
            text += [nodes.Text(", ")] * bool(i) + [link(key, self.env.docname)]
        formula = nodes.math_block(entry.formula, entry.formula, number=None, nowrap=False)
        body = nodes.definition("", text, formula, nodes.paragraph("", f"Regime: {entry.regime}."))
        numbers = [
            Number(one["name"], one["claimed"], one["measured"], one["error"])
            for one in row["numbers"]
        ]
        if numbers:
            body += nodes.paragraph("", "; ".join(map(str, numbers)) + ".")
        if entry.why:
            body += nodes.paragraph("", entry.why)
        shown = entry.show.strip()
        body += nodes.literal_block(shown, shown, language="python" if "import" in shown else "sh")
        return nodes.definition_list_item("", term, body)


def keep_colon(app, what, name, obj, options, lines):
    """Begin the docstring of a property with an empty comment.

    Napoleon would take its first line, "Kinks: where it is not smooth", for a type and a text.
    """
    if what in ("property", "attribute"):
        lines[:0] = ["..", ""]


def skip_routing(app, what, name, obj, skip, options):
    """Leave out the methods that scikit-learn adds to every estimator to route metadata."""
    return True if re.fullmatch(r"set_\w+_request|get_metadata_routing", name) else None


def setup(app):
    """Register the role and the directives."""
    app.connect("autodoc-process-docstring", keep_colon, priority=400)  # before napoleon
    app.connect("autodoc-skip-member", skip_routing)
    app.add_role("cite", Cite())
    app.add_directive("reference-list", ReferenceList)
    app.add_directive("figure-table", FigureTable)
    app.add_directive("atlas-table", AtlasTable)
    app.add_directive("zoo-table", ZooTable)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
