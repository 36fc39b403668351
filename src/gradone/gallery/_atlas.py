"""The atlas: every claim of the literature that gradone stands on, and whether it holds here."""

from __future__ import annotations

import importlib
import json
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..base.errors import BadData, did_you_mean
from ..base.progress import Progress, watcher
from ._memo import Memo, cpu_seconds
from ._verdict import CORRECTED, FAILS, HOLDS, OPEN, SKIPPED, Claimed, Verdict, compare

if TYPE_CHECKING:
    import xarray as xr

    from ..experiments.store import Store

FAMILIES = ("bayes", "lazy", "sgd", "giant", "depth")


@dataclass(frozen=True)
class Entry:
    """One claim of the literature: a table of ``atlas.toml``.

    Parameters
    ----------
    family, name : str
        Where it stands, and what it is called.
    kind : str
        ``"theorem"``, ``"conjecture"``, ``"figure"``, ``"table"`` or ``"example"``.
    statement, formula, regime : str
        What is claimed, its formula in LaTeX, and where it is claimed to hold.
    cites : tuple of str
        Keys of the references.
    show : str
        Command, or a few lines of Python, that shows it.
    check : str
        Function of ``gallery/<family>/_claims.py`` that measures; empty if nothing does.
    of : mapping
        Its arguments.
    claimed, corrected : mapping of str to float or str
        Numbers as they are claimed, and as they ought to be where the literature is not exact.
    within : float or mapping of str to float
        How far from them a measured number may be, beside its error.
    planted, planted_of : mapping
        An error that the check must notice: wrong numbers, or arguments of something else.
    figure : str
        Figure of the gallery that draws it, if there is one.
    needs : str
        Package beyond those that gradone needs, without which the claim is not checked.
    why : str
        What stands behind a verdict that is not "holds".
    """

    family: str
    name: str
    kind: str
    statement: str
    regime: str
    cites: tuple[str, ...]
    show: str
    formula: str = ""
    check: str = ""
    of: Mapping[str, Any] = field(default_factory=dict)
    claimed: Claimed = field(default_factory=dict)
    corrected: Claimed = field(default_factory=dict)
    within: float | Mapping[str, float] = 0.0
    planted: Claimed = field(default_factory=dict)
    planted_of: Mapping[str, Any] = field(default_factory=dict)
    figure: str = ""
    needs: str = ""
    why: str = ""

    def measure(self, memo: Memo | None = None) -> xr.Dataset:
        """The numbers of this claim, measured here."""
        module = importlib.import_module(f".{self.family}._claims", __package__)
        return (memo or Memo())(getattr(module, self.check), **self.of)

    def judge(self, measured: xr.Dataset) -> Verdict:
        """The verdict that follows from measured numbers."""
        numbers = compare(measured, self.claimed, self.within)
        if all(one.agrees for one in numbers):
            return Verdict(self.name, HOLDS, numbers)
        if self.corrected:
            better = compare(measured, {**self.claimed, **self.corrected}, self.within)
            if all(one.agrees for one in better):
                return Verdict(self.name, CORRECTED, numbers)
        return Verdict(self.name, FAILS, numbers)

    def verdict(self, memo: Memo | None = None) -> Verdict:
        """Whether the claim holds here: measured, then judged."""
        if not self.check:
            return Verdict(self.name, OPEN)
        if self.needs and find_spec(self.needs) is None:
            return Verdict(self.name, SKIPPED)
        start, before = cpu_seconds(), memo.seconds if memo else 0.0
        made = self.judge(self.measure(memo))
        remembered = memo.seconds - before if memo else 0.0
        return replace(made, seconds=cpu_seconds() - start + remembered)

    def with_planted_error(self) -> Entry:
        """The same claim with the error that its check must notice."""
        wrong = {**self.claimed, **self.planted}
        return replace(
            self, claimed=wrong, corrected={}, of={**self.of, **self.planted_of}, planted={}
        )


class Atlas(Mapping[str, Entry]):
    """Claims by name, in the order of the table.

    Parameters
    ----------
    entries : mapping of str to Entry
        The claims.

    Examples
    --------
    >>> claim = atlas()["phase-retrieval"]
    >>> claim.family, claim.kind, dict(claim.claimed)
    ('bayes', 'theorem', {'alpha_c': 0.5})
    >>> claim.verdict().word
    'holds'
    """

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self.entries = dict(entries)

    def __getitem__(self, name: str) -> Entry:
        if name not in self.entries:
            raise BadData(
                f"no claim of the atlas is named '{name}'.{did_you_mean(name, self.entries)} "
                "`gradone atlas` lists the claims."
            )
        return self.entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def families(self) -> dict[str, list[Entry]]:
        """The claims by family."""
        found: dict[str, list[Entry]] = {}
        for entry in self.entries.values():
            found.setdefault(entry.family, []).append(entry)
        return found

    def check(
        self, *, store: Store | None = None, progress: Progress | bool = False
    ) -> dict[str, Verdict]:
        """Measure and judge every claim.

        Parameters
        ----------
        store : Store, optional
            Remembers what was measured, so that an interrupted check goes on where it was.
        progress : bool or Progress
            True draws a bar on a terminal.

        Returns
        -------
        dict of str to Verdict
            Verdicts by the names of the claims.
        """
        from threadpoolctl import threadpool_limits

        watching, memo = watcher(progress, "atlas"), Memo(store, "atlas")
        found: dict[str, Verdict] = {}
        watching.step(0, len(self))
        try:
            with threadpool_limits(1):
                for done, (name, entry) in enumerate(self.entries.items(), 1):
                    found[name] = entry.verdict(memo)
                    if watching.step(done, len(self)):
                        break
        finally:
            watching.close()
        return found

    def recorded(self) -> dict[str, Any]:
        """The verdicts of the last complete check: its version, its date and a row for each claim.

        Examples
        --------
        >>> atlas("bayes").recorded()["claims"]["phase-retrieval"]["verdict"]
        'holds'
        """
        text = (files(__package__) / "verdicts.json").read_text(encoding="utf-8")
        last = json.loads(text)
        rows = {row["claim"]: row for row in last["claims"] if row["claim"] in self.entries}
        return {**last, "claims": rows}

    def __repr__(self) -> str:
        last = self.recorded()["claims"]
        lines = []
        for family, entries in self.families().items():
            lines.append(family)
            for entry in entries:
                word = last[entry.name]["verdict"] if entry.name in last else "not checked yet"
                lines.append(f"  {entry.name:38} {entry.kind:11} {word}")
        return "\n".join(lines)


def atlas(family: str | None = None, claim: str | None = None) -> Atlas:
    """The claims of the literature that gradone stands on, with the check of each.

    Parameters
    ----------
    family : {"bayes", "lazy", "sgd", "giant", "depth"}, optional
        Only the claims of one family.
    claim : str, optional
        Only this claim.

    Returns
    -------
    Atlas
        Mapping of names to claims; ``check()`` measures and judges them.

    Examples
    --------
    >>> import gradone as gd
    >>> verdicts = gd.atlas("bayes", "parity-threshold").check()
    >>> verdicts["parity-threshold"].word
    'holds'
    """
    if family is not None and family not in FAMILIES:
        raise BadData(
            f"a family of the atlas is {', '.join(FAMILIES[:-1])} or {FAMILIES[-1]}, got '{family}'"
        )
    whole = Atlas(_table())
    if claim is not None:
        chosen = whole[claim]
        if family not in (None, chosen.family):
            raise BadData(f"the claim '{claim}' stands in the family '{chosen.family}'")
        return Atlas({claim: chosen})
    return Atlas({k: e for k, e in whole.items() if family in (None, e.family)})


@cache
def _table() -> dict[str, Entry]:
    text = (files(__package__) / "atlas.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    found: dict[str, Entry] = {}
    for family in FAMILIES:
        for name, fields in table.get(family, {}).items():
            if name in found:
                raise BadData(f"two claims of the atlas are named '{name}'")
            fields["cites"] = tuple(fields["cites"])
            found[name] = Entry(family, name, **fields)
    return found
