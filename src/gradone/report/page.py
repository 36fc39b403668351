"""A study as one HTML file: no network, no other file, also without scripts and on paper."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..base.references import references
from ..charts import script as plotly_script
from ..targets.zoo import zoo
from . import assets
from .curves import fineness
from .stairs import staircases
from .target_charts import energies, labels
from .words import command, exponent_cards, verdict

if TYPE_CHECKING:
    from ..charts import Chart
    from .study import Study

# A page that could fetch something would say so here: nothing but what stands in it is allowed.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "font-src data:; img-src data: blob:"
)
_TOP = 14  # pixels above a picture
_MOST_LETTERS = 400  # of a reason or a note
_MORE = 30.0  # seconds that a coarse report proposes


def page(study: Study, *, stills: bool = True) -> str:
    """HTML of a study: verdict, what opens when, who learns what, training, plan, references.

    Parameters
    ----------
    study : Study
        What was found.
    stills : bool
        Whether pictures for paper and for browsers without scripts are drawn, which takes long.

    Examples
    --------
    >>> from gradone import Target
    >>> from gradone.report import Study
    >>> text = page(Study(Target("z1*z2"), d=50))
    >>> text.startswith("<!doctype html>"), "http://" in text.partition("<script>")[0]
    (True, False)
    """
    title = _e(_title(study))
    parts = [
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<link rel="icon" href="data:,">',
        f"<title>{title}</title>",
        f"<style>{assets.formula_style()}</style><style>{assets.own('page.css')}</style>",
        '<script>document.documentElement.classList.add("js");</script>',
        plotly_script(),
        f"<script>{assets.formula_script()}</script>",
        "</head><body><main>",
        _header(study),
        _cards(study),
        _stairs(study),
        _curves(study, stills),
        _plan(study),
        _target_pictures(study, stills),
        _checklist(study),
        _references(study),
        _fineness(study),
        _notes(study),
        _footer(study),
        f"</main><script>{assets.own('page.js')}</script></body></html>\n",
    ]
    return "".join(parts)


def _e(text: object) -> str:
    return html.escape(str(text))


def _short(text: str) -> str:
    return text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 1] + "…"


def _powers(text: str) -> str:
    """Escaped text in which exponents are raised and the indices of formulas lowered."""
    raised = re.sub(r"(?<=[\w|)])\^(\d+(?:\.\d+)?|\w+)", r"<sup>\1</sup>", _e(text))
    return re.sub(r"\b(C|He|h|P|d)_(\d+)\b", r"\1<sub>\2</sub>", raised)


def _title(study: Study) -> str:
    entry = zoo().find(study.target)
    return f"{entry.name}: {entry.formula}" if entry else str(study.target.text)


def _header(study: Study) -> str:
    target, entry = study.target, zoo().find(study.target)
    formulas = "".join(
        f'<div class="formula" data-latex="{_e(one)}"></div>' for one in _formulas(target)
    )
    headline, sentences = verdict(study.analysis or study.why_not("analysis"))
    kind = getattr(study.analysis, "learnability", None) or "open"
    about = f'<p class="about"><b>{_e(entry.name)}</b>: {_e(entry.shows)}</p>' if entry else ""
    noise = f", label noise of variance {target.noise:g}" if target.noise else ""
    return (
        '<header><p class="kicker">gradone study</p>'
        f'<div class="formulas">{formulas}</div>'
        f'<p class="about"><code>{_e(target.text)}</code>{_e(noise)}</p>{about}'
        f'<div class="verdict {_e(kind)}"><h1>{_powers(headline)}</h1>'
        + "".join(f"<p>{_powers(sentence)}</p>" for sentence in sentences)
        + "</div></header>"
    )


def _formulas(target: Any) -> list[str]:
    """The target in LaTeX, one equation on each line.

    Examples
    --------
    >>> from gradone import Target, zoo
    >>> _formulas(Target("z1")), len(_formulas(zoo("sight")))
    (['y = z_{1}'], 4)
    """
    first, *others = re.split(r",?\s*\\quad\s*", target.latex)
    noise = rf" + \sqrt{{{target.noise:g}}}\,\xi" if target.noise else ""
    return [(first if first.startswith("y") else f"y = {first}") + noise, *others]


def _cards(study: Study) -> str:
    cards = [
        f'<div class="card"><div class="name">{_e(name)}</div>'
        f'<div class="value">{_powers(value)}</div><div class="why">{_powers(why)}</div></div>'
        for name, value, why in exponent_cards(study.analysis or "")
    ]
    return f'<section><div class="cards">{"".join(cards)}</div></section>' if cards else ""


def _stairs(study: Study) -> str:
    analysis = study.analysis
    if analysis is None:
        return ""
    figures = [
        f"<figure><h3>{_e(title)}</h3>{picture}<figcaption>{_e(text)}</figcaption></figure>"
        for title, picture, text in staircases(analysis)
    ]
    kind = "pair" if len(figures) > 1 else "single"
    return (
        f'<section><h2>What opens when</h2><div class="{kind}">{"".join(figures)}</div></section>'
    )


def _target_pictures(study: Study, stills: bool) -> str:
    figures = []
    facts = study.facts
    if chart := energies(study):
        text = (
            "The energy of the target in each Hermite degree; the gray bar is all higher degrees."
        )
        figures.append(_figure("Hermite energies", chart, text, stills=stills))
    if chart := labels(study):
        where = f" in d = {facts.d}" if study.axis == "kappa" else ""
        text = f"The distribution of the labels{where}."
        figures.append(_figure("Labels", chart, text, stills=stills))
    structure = "".join(f"<li>{_e(line)}</li>" for line in getattr(facts, "facts", ()))
    extra = f"<ul>{structure}</ul>" if structure else ""
    if not figures:
        return ""
    return (
        f'<section><h2>The target</h2>{extra}<div class="pair">{"".join(figures)}</div></section>'
    )


def _curves(study: Study, stills: bool) -> str:
    """Pictures of curves, in the sections of the story."""
    sections: dict[str, list[str]] = {}
    for panel in study.panels:
        figure = _figure(panel.title, panel.chart, panel.text, panel.missing, stills=stills)
        sections.setdefault(panel.section, []).append(figure)
    return "".join(
        f'<section><h2>{_e(title)}</h2><div class="pair">{"".join(figures)}</div></section>'
        for title, figures in sections.items()
    )


def _figure(
    title: str,
    chart: Chart,
    text: str,
    missing: Sequence[tuple[str, str]] = (),
    *,
    stills: bool,
) -> str:
    kind = "chart" if stills else "chart live-only"
    still = f'<div class="still">{chart.to_svg()}</div>' if stills else ""
    return (
        f'<figure class="{kind}"><h3>{_e(title)}</h3><div class="live">{_live(chart)}</div>{still}'
        f"<figcaption>{_powers(text)}</figcaption>{_absent(missing)}</figure>"
    )


def _live(chart: Chart) -> str:
    """Numbers of an interactive picture; the script of the page draws it when all is laid out."""
    picture = chart.plotly_dict()
    layout = picture["layout"]
    room = layout["margin"]["t"] - _TOP  # of the title, which stands above the picture
    layout["margin"]["t"] = _TOP
    layout["height"] -= room
    for axis in (layout["xaxis"], layout["yaxis"]):
        if "tickvals" in axis:
            axis.pop("minor", None)  # marks between marks that have names
    text = json.dumps(picture, allow_nan=False).replace("<", "\\u003c")
    return f'<div class="plot"></div><script type="application/json">{text}</script>'


def _absent(missing: Iterable[tuple[str, str]]) -> str:
    items = []
    for name, reason in missing:
        kind = ' class="failed"' if "failed" in reason else ""
        items.append(f"<li{kind}><b>{_e(name)}</b>: {_e(_short(reason))}</li>")
    return f'<ul class="absent">{"".join(items)}</ul>' if items else ""


_STAGES = (
    "A stage is a group of directions that are found together. Its leap is the degree of the "
    "polynomial of the inputs that is correlated with the label, once the stages before it are "
    "known; its generative order is the same for the best function of the label."
)


def _plan(study: Study) -> str:
    plan = study.plan
    if plan is None:
        reason = study.why_not("plan")
        return f"<section><h2>Plan</h2>{_absent([('plan', reason)])}</section>"
    s = plan.sizes
    head = _head("algorithm", "data it needs", "#margin", "#error left", "learns here", "note")
    rows = []
    for row in plan.rows:
        sign = "yes" if row.margin >= 0 else "no"
        error = "?" if row.plateau is None else f"{row.plateau.value:.4g}"
        margin = f"{row.margin:+.2f}".replace("-inf", "−∞").replace("-", "−")
        rows.append(
            f'<tr><td><b>{_e(row.algorithm)}</b></td><td class="needs">{_powers(row.needs)}</td>'
            f'<td class="number {sign}">{margin}</td><td class="number">{error}</td>'
            f"<td>{_powers(row.here or 'nothing')}</td><td>{_powers(row.note)}</td></tr>"
        )
    bounds = "".join(
        f"<li>{_e(b.name)} bound, order {b.order}: n ~ {_power_of_d(b.exponent)} "
        f"({_powers(b.note)})</li>"
        for b in plan.bounds
    )
    return (
        f"<section><h2>Plan for d = {s.d}, n = {s.n}, width {s.width}</h2>"
        '<p class="about">The table says which algorithm learns what from these data. The margin '
        "is log n / log d minus the exponent that is needed; the error left is what theory "
        f"predicts in the limit of large d. {_STAGES}</p>"
        f'<div class="wide"><table>{head}<tbody>{"".join(rows)}</tbody></table></div>'
        + (f"<p>Lower bounds:</p><ul>{bounds}</ul>" if bounds else "")
        + "</section>"
    )


def _head(*names: str) -> str:
    """Head of a table; # begins the name of a column of numbers."""
    cells = (f'<th class="number">{n[1:]}</th>' if n[0] == "#" else f"<th>{n}</th>" for n in names)
    return f"<thead><tr>{''.join(cells)}</tr></thead>"


def _power_of_d(exponent: float) -> str:
    return "d" if exponent == 1 else f"d<sup>{exponent:g}</sup>"


def _checklist(study: Study) -> str:
    conditions = getattr(study.analysis, "checklist", ())
    if not conditions:
        return ""
    marks = {"holds": "yes", "fails": "no"}
    rows = "".join(
        f'<tr><td><b>{_e(c.id)}</b></td><td class="{marks.get(c.verdict, "")}">{_e(c.verdict)}</td>'
        f"<td>{_powers(c.statement)}</td><td>{_powers(c.why)}</td></tr>"
        for c in conditions
    )
    return (
        "<section><h2>Assumptions of the theorem on depth</h2>"
        f'<div class="wide"><table><tbody>{rows}</tbody></table></div></section>'
    )


def _fineness(study: Study) -> str:
    rows = []
    for row in fineness(study):
        runs = f"{row.runs:.3g}" if row.name.endswith("simulation") else ""
        rows.append(
            f'<tr><td>{_e(row.name)}</td><td class="number">{row.places}</td>'
            f'<td class="number">{runs}</td><td class="number">{row.seconds:.1f} s</td></tr>'
        )
    if not rows:
        return ""
    head = _head("curve", "#points", "#runs per point", "#computing")
    more = command(replace(study, budget=study.budget or _MORE))
    return (
        "<section><h2>How fine the curves are</h2>"
        f"<table>{head}<tbody>{''.join(rows)}</tbody></table>"
        f"<p>More time makes all of them finer, where they bend and where errors are "
        f"large:</p><pre>{_e(more)} --resume</pre></section>"
    )


def _notes(study: Study) -> str:
    items = [
        f"<li><b>{_e(name)}</b>: {_e(_short(note))}</li>"
        for name, outcome in study.outcomes.items()
        for note in [*outcome.notes[:1], *list(outcome.failures.values())[:1]]
    ]
    if not items:
        return ""
    return f'<section><h2>Notes</h2><ul class="absent">{"".join(items)}</ul></section>'


def _references(study: Study) -> str:
    known = references()
    items = []
    for key in cited(study):
        paper = known[key]
        text = _e(paper.text)
        if paper.arxiv:
            number = _e(paper.arxiv)
            link = f'<a href="https://arxiv.org/abs/{number}">arXiv:{number}</a>'
            text = text.replace(f"arXiv:{number}", link)
        items.append(f"<li>{text}</li>")
    if not items:
        return ""
    return f'<section><h2>References</h2><ol class="references">{"".join(items)}</ol></section>'


def cited(study: Study) -> list[str]:
    """Keys of the papers behind what the report shows, each once."""
    from ..algorithms import all_cards
    from ..theory import THEORIES

    entry = zoo().find(study.target)
    sources: list[Any] = [entry, study.analysis, study.plan]
    sources += [
        THEORIES[card.theory_for(study.target)]
        for card in all_cards()
        if card.name in study.theories
    ]
    keys = (key for source in sources for key in getattr(source, "cites", None) or ())
    return list(dict.fromkeys(keys))


def _footer(study: Study) -> str:
    from importlib.metadata import version

    return (
        f"<section><h2>Make this report again</h2><pre>{_e(study.command)}</pre></section>"
        f"<footer>gradone {_e(version('gradone'))}, {_e(study.footnote)} In Python: "
        f"<code>gd.study</code>, <code>gd.analyze</code>, <code>gd.plan</code>.</footer>"
    )
