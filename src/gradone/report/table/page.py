"""The report on a table as one HTML page that asks nothing of the network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np

from . import pictures, words
from .peers import label_of

if TYPE_CHECKING:
    from ...charts import Chart
    from .fit import TableFit

# Nothing is fetched and no script is run: the page is text and drawings.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"
_MOST_FEATURES = 25  # rows of the table of loadings


def page(fit: TableFit, *, command: str = "") -> str:
    """The page.

    Parameters
    ----------
    fit : TableFit
        What was found.
    command : str
        The command line that makes it again.
    """
    data = fit.data
    n, d = data.X.shape
    kind = f"{len(data.classes)} classes" if data.classes else "a number"
    title = f"What predicts {data.target}"
    parts = [
        f"<header><h1>{escape(title)}</h1><p>{escape(data.source)}: {n} rows, {d} features; "
        f"{escape(data.target)} is {kind}</p></header>",
        _section("In short", _in_short(fit), "verdict"),
        *(_section("Warnings", _paragraphs(text), "warning") for text in data.warnings),
        _section("Comparison", _comparison(fit)),
        _section("Directions", _directions(fit)),
        _section("The target along the coordinates", _coordinates(fit)),
        _section("Learning curve", _growth(fit)),
        _section("How the prediction is made", _members(fit)),
        _section("The table", _table_notes(fit)),
        _section("Use the model, make the report again", _use(command)),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<title>{escape(title)}</title><style>{_style()}</style></head>\n"
        f"<body><main>{''.join(part for part in parts if part)}</main></body></html>\n"
    )


def _style() -> str:
    return files(__package__).joinpath("page.css").read_text(encoding="utf-8")


def _section(title: str, body: str, kind: str = "") -> str:
    if not body:
        return ""
    marked = f' class="{kind}"' if kind else ""
    return f"<section{marked}><h2>{escape(title)}</h2>{body}</section>\n"


def _paragraphs(*texts: str, kind: str = "") -> str:
    marked = f' class="{kind}"' if kind else ""
    return "".join(f"<p{marked}>{escape(text)}</p>" for text in texts if text)


def _in_short(fit: TableFit) -> str:
    diagnosis = f"Diagnosis of the learner: {fit.learner.diagnosis_}"
    return _paragraphs(words.finding(fit), words.headline(fit)) + _paragraphs(
        diagnosis, kind="quiet"
    )


def _figure(chart: Chart | None, heading: str = "", kind: str = "") -> str:
    if chart is None:
        return ""
    caption = f"<figcaption>{escape(chart.caption)}</figcaption>" if chart.caption else ""
    top = f"<h3>{escape(heading)}</h3>" if heading else ""
    marked = f' class="{kind}"' if kind else ""
    return f"<figure{marked}>{top}{chart.to_svg()}{caption}</figure>"


def _rows(heads: Sequence[str], rows: Iterable[Sequence[str]], own: str = "") -> str:
    """Table of texts; cells may hold HTML."""
    head = "".join(f"<th>{escape(word)}</th>" for word in heads)
    body = ""
    for row in rows:
        marked = ' class="own"' if own and row[0] == own else ""
        cells = (cell if cell.startswith("<td") else f"<td>{cell}</td>" for cell in row)
        body += f"<tr{marked}>{''.join(cells)}</tr>"
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="scroll">{table}</div>'


def _comparison(fit: TableFit) -> str:
    comparison, rows = fit.comparison, []
    for name, entry in comparison.entries.items():
        label = escape(label_of(name, fit.data.task))
        if entry.failure:
            rows.append([label, "failed", escape(entry.failure), ""])
            continue
        gain, error = comparison.gain(name)
        versus = "" if name == "gradone" else f"{gain:+.3f} ± {error:.3f}"
        rows.append(
            [label, f"{entry.mean:.3f} ± {entry.error:.3f}", versus, f"{entry.seconds:.1f}"]
        )
    heads = ("method", comparison.measure, "gradone is better by", "CPU s per fit")
    note = (
        f"All methods use the same {fit.folds} folds. ± is one standard error over folds, and that "
        "of a difference compares fold by fold. Methods choose their penalties inside the training "
        "folds."
    )
    return (
        _figure(pictures.scores_chart(fit))
        + _rows(heads, rows, own="gradone")
        + _paragraphs(note, kind="quiet")
        + _confusion(fit)
        + _figure(pictures.predicted_chart(fit), kind="small")
    )


def _confusion(fit: TableFit) -> str:
    found = fit.comparison.own.predictions
    if not fit.data.classes or found is None or len(fit.data.classes) > 12:
        return ""
    values = np.unique(fit.data.y)
    counts = [[int(np.sum((fit.data.y == a) & (found == b))) for b in values] for a in values]
    rows = []
    for i, (name, row) in enumerate(zip(fit.data.classes, counts, strict=True)):
        cells = [_shaded(str(c), c / max(sum(row), 1), wrong=i != j) for j, c in enumerate(row)]
        rows.append([escape(name), *cells])
    heads = ["true class, predicted as", *fit.data.classes]
    return _rows(heads, rows) + _paragraphs(
        "The table counts rows that were left out, by true class and by the class that gradone "
        "predicts.",
        kind="quiet",
    )


def _shaded(text: str, share: float, *, wrong: bool = False, negative: bool = False) -> str:
    """Cell whose background is as strong as a share."""
    color = "213,94,0" if wrong or negative else "0,114,178"
    return f'<td style="background:rgba({color},{0.45 * min(share, 1):.3f})">{text}</td>'


def _directions(fit: TableFit) -> str:
    learner, names = fit.learner, fit.data.features
    text = _paragraphs(words.reading(fit))
    if not learner.n_directions_:
        return text
    loadings, errors = np.asarray(learner.directions_), fit.loading_errors
    largest, where = np.abs(loadings).max(axis=0), np.abs(loadings).argmax(axis=0)
    order = np.argsort(-largest)[:_MOST_FEATURES]
    order = order[np.lexsort((-largest[order], where[order]))]
    rows = [
        [
            escape(names[j]),
            *(
                _shaded(f"{v:+.2f} ± {e:.2f}", abs(v), negative=v < 0)
                for v, e in zip(loadings[:, j], errors[:, j], strict=True)
            ),
        ]
        for j in order
    ]
    heads = ["feature", *(f"direction {k + 1}" for k in range(len(loadings)))]
    for name, values in (
        ("share of the mean square gradient", fit.gradient_shares),
        ("variance explained with those before it", fit.explained),
    ):
        shares = ("–" if np.isnan(v) else f"{100 * v:.0f} %" for v in values)
        rows.append([f"<em>{name}</em>", *shares])
    more = len(names) - len(order)
    note = f"{more} features with smaller loadings are in results.json." if more else ""
    return text + _rows(heads, rows) + _paragraphs(note, kind="quiet")


def _coordinates(fit: TableFit) -> str:
    charts = pictures.coordinate_charts(fit)
    if not charts:
        return ""
    along = "".join(
        _figure(chart, words.leading_features(fit, k)) for k, chart in enumerate(charts)
    )
    shown = pictures.map_chart(fit)
    below = ""
    if shown is not None:
        below = (
            "<h2>Map of the first two coordinates</h2>"
            + _paragraphs(f"The colors show {fit.data.target}.", kind="quiet")
            + _figure(shown)
        )
    note = "Each dot is a row. A coordinate is the projection of a row on a direction."
    if not fit.data.classes:
        note += " The line is the mean of the target among rows with similar coordinates."
    return _paragraphs(note, kind="quiet") + f'<div class="grid">{along}</div>' + below


def _growth(fit: TableFit) -> str:
    if fit.growth is None:
        return ""
    return (
        _paragraphs(words.more_rows(fit))
        + _figure(pictures.growth_chart(fit))
        + _paragraphs(words.predicted(fit), kind="quiet")
    )


def _members(fit: TableFit) -> str:
    learner = fit.learner
    rows = [
        [escape(name), f"{learner.member_weights_.get(name, 0.0):.2f}", f"{score:.3f}"]
        for name, score in sorted(learner.cv_scores_.items(), key=lambda item: -item[1])
    ]
    text = (
        "gradone adds up several predictors with these weights, which were found on rows that were "
        "left out. 'linear' is ridge regression, 'kernel' and 'metric' are kernel regression, "
        "'trees' are boosted trees of single columns, and 'stage', 'best' and 'rough' are "
        "functions of the learned directions."
    )
    stages = [
        f"stage {i + 1}: {stage['rank']} direction{'s' if stage['rank'] > 1 else ''}, "
        f"{100 * stage['score']:.1f} % of the variance remains"
        for i, stage in enumerate(learner.path_)
    ]
    path = (
        "The search for directions in the best fold went as follows: " + "; ".join(stages) + "."
        if stages
        else ""
    )
    return (
        _paragraphs(text)
        + _rows(("member", "weight", "R² out of fold"), rows)
        + _paragraphs(path, kind="quiet")
    )


def _table_notes(fit: TableFit) -> str:
    data = fit.data
    notes = "".join(f"<li>{escape(note)}</li>" for note in data.notes)
    columns = ", ".join(data.features[:60]) + (", ..." if len(data.features) > 60 else "")
    return (f"<ul>{notes}</ul>" if notes else "") + _paragraphs(
        f"{len(data.features)} features: {columns}.", kind="quiet"
    )


def _use(command: str) -> str:
    from importlib.metadata import version

    code = (
        "import gradone as gd\n\n"
        'model = gd.learners.load_model("model.npz")   # numbers and names; no code is run\n'
        'model.predict("new.csv")                      # or a data frame, or columns by name\n'
        'model.transform("new.csv")                    # the learned coordinates'
    )
    again = f"<pre><code>{escape(command)}</code></pre>" if command else ""
    libraries = ", ".join(
        f"{name} {version(name)}" for name in ("gradone", "numpy", "scikit-learn")
    )
    return f"<pre><code>{escape(code)}</code></pre>{again}" + _paragraphs(libraries, kind="quiet")
