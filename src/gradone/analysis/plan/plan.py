"""Plans as text, table and numbers."""

from __future__ import annotations

import html
import textwrap
from dataclasses import dataclass
from typing import Any

from ...base.errors import BadData
from ...targets.sampled import Sampled
from .bounds import Bound
from .correlation_rows import scaling
from .row import REGIMES, PlanRow, Regime, Sizes, finite

_WIDTH, _NAME, _WORD = 80, 27, 7  # letters of a line, of its first column and of its end


@dataclass(frozen=True, repr=False)
class Plan:
    """Answer of :func:`gradone.plan`.

    Parameters
    ----------
    target : Target or hierarchical target
        The target.
    sizes : Sizes
        d, n and width.
    rows : tuple of PlanRow
        One for each algorithm, sorted by the data they need.
    bounds : tuple of Bound
        Lower bounds for correlation queries (with the information exponent, and with the leap
        exponent if it differs) and for statistical queries.
    about_inputs : str
        What one must know if the target is on inputs of another law.
    """

    target: Sampled
    sizes: Sizes
    rows: tuple[PlanRow, ...]
    bounds: tuple[Bound, ...] = ()
    about_inputs: str = ""

    def __repr__(self) -> str:
        s = self.sizes
        return f"Plan({self.target!r}, d={s.d}, n={s.n}, width={s.width}: {len(self.rows)} rows)"

    @property
    def cites(self) -> tuple[str, ...]:
        """Papers behind the rows."""
        return tuple(dict.fromkeys(key for row in self.rows for key in row.cites))

    @property
    def staircase(self) -> tuple[PlanRow, ...]:
        """Kernel (T = 0) and T giant steps, with their table of plateaus, by T."""
        rows = [row for row in self.rows if row.steps is not None]
        return tuple(sorted(rows, key=lambda row: row.steps or 0))

    @property
    def regimes(self) -> tuple[Regime, ...]:
        """What kernels and giant steps learn when n and the width are different powers of d."""
        rest = [row for row in self.rows if row.steps is None]
        return tuple(one for row in (*self.staircase, *rest) for one in row.regimes)

    def row(self, algorithm: str) -> PlanRow:
        """Row of an algorithm."""
        for row in self.rows:
            if row.algorithm == algorithm:
                return row
        known = ", ".join(repr(row.algorithm) for row in self.rows)
        raise BadData(f"no algorithm {algorithm!r} in this plan, it has {known}")

    def summary(self) -> str:
        """The plan as text for a terminal."""
        s = self.sizes
        lines = [
            f"{self.target!r}",
            f"d = {s.d}, n = {s.n} = d^{s.data_exponent:.2f}, width = {s.width}: "
            f"the readout fits degree {s.kappa}",
            "",
            _columns("algorithm", "data it needs", "margin", "error", "learns"),
        ]
        for row in self.rows:
            error = "?" if row.plateau is None else f"{row.plateau.value:.4g}"
            here = row.here or "nothing"
            if row.reached is not None and row.reached.dim and here != "all":
                here = f"{row.reached!r}: {here}"
            word = here if len(here) <= _WORD else ""
            lines.append(_columns(row.algorithm, row.needs, _signed(row.margin), error, word))
            if not word:
                lines += textwrap.wrap(here, _WIDTH, initial_indent="  ", subsequent_indent="    ")
        lines += self._table_of_plateaus()
        for bound in self.bounds:
            exact = f"; with its constants n >= {bound.samples:.3g}" if bound.samples else ""
            text = f"{bound.name} bound, order {bound.order}: {scaling(bound.exponent)}{exact} "
            lines += textwrap.wrap(f"{text}({bound.note})", _WIDTH, subsequent_indent="  ")
        if self.about_inputs:
            lines += ["", *textwrap.wrap(self.about_inputs, _WIDTH)]
        return "\n".join(lines)

    def learned_terms(self) -> str:
        """Hermite terms that kernels and giant steps learn in each regime, as text."""
        lines = []
        for n, p in REGIMES:
            lines.append(f"n ~ {_order(n)}, p ~ {_order(p)}")
            for one in self.regimes:
                if (one.samples, one.width) == (n, p):
                    text = f"{one.algorithm:<{_NAME - 4}}{one.plateau.value:>8.4g}  {one.terms}"
                    lines += textwrap.wrap(
                        text, _WIDTH, initial_indent="  ", subsequent_indent=" " * (_NAME + 10)
                    )
        return "\n".join(lines) if self.regimes else "no error of giant steps is known"

    def _table_of_plateaus(self) -> list[str]:
        """Errors of kernels and giant steps by regime; a dash where samples are too few."""
        cells: dict[str, dict[tuple[int, int], str]] = {}
        for one in self.regimes:
            cell = f"{one.plateau.value:.4g}"
            cells.setdefault(one.algorithm, {})[one.samples, one.width] = cell
        if len(cells) < 2:
            return []
        lines = ["", "error left when samples n and width p are of the order of"]
        for name, powers in (("n", [n for n, _ in REGIMES]), ("p", [p for _, p in REGIMES])):
            lines.append(f"{name:>{_NAME}}" + "".join(f"{_order(k):>9}" for k in powers))
        for algorithm, found in cells.items():
            row = "".join(f"{found.get(regime, '-'):>9}" for regime in REGIMES)
            lines.append(f"{algorithm:<{_NAME}}{row}")
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, texts and lists, ready for JSON."""
        return {
            "target": repr(self.target),
            "d": self.sizes.d,
            "n": self.sizes.n,
            "width": self.sizes.width,
            "data_exponent": self.sizes.data_exponent,
            "kappa": self.sizes.kappa,
            "rows": [row.to_dict() for row in self.rows],
            "regimes": [one.to_dict() for one in self.regimes],
            "about_inputs": self.about_inputs,
            "bounds": [
                {
                    "name": bound.name,
                    "order": bound.order,
                    "exponent": bound.exponent,
                    "samples": None if bound.samples is None else finite(bound.samples),
                    "note": bound.note,
                }
                for bound in self.bounds
            ],
        }

    def _repr_html_(self) -> str:
        head = ("algorithm", "data it needs", "margin", "error left", "learns here", "note")
        cells = [
            (
                row.algorithm,
                row.needs,
                _signed(row.margin),
                "?" if row.plateau is None else f"{row.plateau.value:.4g}",
                row.here,
                row.note,
            )
            for row in self.rows
        ]
        s = self.sizes
        caption = f"{self.target!r}, d = {s.d}, n = {s.n}, width = {s.width}"
        body = "".join(f"<tr>{_cells(line, 'td')}</tr>" for line in cells)
        return (
            f"<table><caption>{html.escape(caption)}</caption>"
            f"<thead><tr>{_cells(head, 'th')}</tr></thead><tbody>{body}</tbody></table>"
            + (f"<p>{html.escape(self.about_inputs)}</p>" if self.about_inputs else "")
        )


def _columns(name: str, needs: str, margin: str, error: str, word: str) -> str:
    """One row; a name that is longer than its column has a line of its own.

    Examples
    --------
    >>> print(_columns("an algorithm with a long name", "n ~ d", "+0.27", "3", "nothing"))
    an algorithm with a long name
                               n ~ d                          +0.27       3  nothing
    """
    above = f"{name}\n" if len(name) > _NAME - 1 else ""
    name = "" if above else name
    return above + f"{name:<{_NAME}}{needs:<30}{margin:>6}{error:>8}  {word}".rstrip()


def _order(power: int) -> str:
    return ("1", "d", "d^2")[power]


def _signed(margin: float) -> str:
    return f"{margin:+.2f}"


def _cells(texts: tuple[str, ...], tag: str) -> str:
    return "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in texts)
