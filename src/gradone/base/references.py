"""References: the one list of papers, and the citation of anything that names its sources."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Literal, Protocol

from .errors import BadData, did_you_mean
from .registry import Registry

# What has no `cites` of its own (a target is its text) is looked up in the collections registered
# here: see `Collection`. They live in rooms above this one and are found by scanning.
CITED = Registry("collection of cited things", "gradone.targets")

_ENTRY = re.compile(r"^@(\w+)\{([^,\s]+),\n(.*?)^\}$", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^  (\w+) = \{(.*)\},$", re.MULTILINE)


class Collection(Protocol):
    """Named things that know their references: an iterable of names that also finds objects."""

    def __iter__(self) -> Iterator[str]: ...

    def cites_of(self, obj: object) -> tuple[str, ...] | None:
        """Keys for a thing of the collection or its name; None for anything else."""


@dataclass(frozen=True, slots=True)
class Reference:
    """One paper of the list.

    Parameters
    ----------
    key : str
        Its key, as in ``cites``.
    kind : str
        BibTeX kind of the entry.
    fields : mapping of str to str
        BibTeX fields.

    Examples
    --------
    >>> paper = references()["ba2022onestep"]
    >>> paper.authors[:2], paper.year, paper.arxiv
    (('Ba', 'Erdogdu'), 2022, '2205.01445')
    """

    key: str
    kind: str
    fields: Mapping[str, str]

    @property
    def authors(self) -> tuple[str, ...]:
        """Family names, in the order of the paper."""
        return tuple(name.partition(",")[0] for name in self.fields["author"].split(" and "))

    @property
    def year(self) -> int:
        """Year of publication."""
        return int(self.fields["year"])

    @property
    def title(self) -> str:
        """Title, without the marks that only BibTeX needs."""
        return re.sub(r"[{}\\]", "", self.fields["title"])

    @property
    def arxiv(self) -> str | None:
        """Identifier on arXiv, or None."""
        return self.fields.get("eprint")

    @property
    def text(self) -> str:
        """The reference as one line of text."""
        place = f"arXiv:{self.arxiv}" if self.arxiv else self.fields.get("journal")
        parts = [f"{', '.join(self.authors)} ({self.year})", self.title, place]
        return ". ".join(part for part in parts if part) + "."

    @property
    def bibtex(self) -> str:
        """The reference as a BibTeX entry."""
        body = "".join(f"  {name} = {{{value}}},\n" for name, value in self.fields.items())
        return f"@{self.kind}{{{self.key},\n{body}}}"


def read_bibtex(text: str) -> dict[str, Reference]:
    """Entries of a BibTeX file in the form that this package writes.

    One field on each line, values in braces, closing brace alone; other forms of BibTeX are
    refused rather than misread.

    Examples
    --------
    >>> fields = {"author": "Doe, Jane", "title": "On things", "year": "2020"}
    >>> paper = Reference("doe2020things", "misc", fields)
    >>> read_bibtex(paper.bibtex)["doe2020things"] == paper
    True
    """
    found: dict[str, Reference] = {}
    for kind, key, body in _ENTRY.findall(text):
        if key in found:
            raise BadData(f"the reference '{key}' is listed twice")
        fields = dict(_FIELD.findall(body))
        if len(fields) < len(body.splitlines()) or not {"author", "title", "year"} <= set(fields):
            raise BadData(
                f"the reference '{key}' cannot be read: each line must be '  name = {{value}},', "
                "every name only once, with author, title and year among them"
            )
        found[key] = Reference(key, kind, MappingProxyType(fields))
    if len(found) < text.count("@"):
        raise BadData(f"{text.count('@')} entries begin with '@' but only {len(found)} can be read")
    return found


@lru_cache(maxsize=1)
def references() -> Mapping[str, Reference]:
    """Every paper that gradone cites, by key.

    Examples
    --------
    >>> references()["dandi2023giant"].title
    'How two-layer neural networks learn, one (giant) step at a time'
    """
    text = files(__package__).joinpath("references.bib").read_text(encoding="utf-8")
    return MappingProxyType(read_bibtex(text))


def cite(obj: object, *, format: Literal["text", "bibtex"] = "text") -> str:
    """References of a thing, one on each line.

    Parameters
    ----------
    obj : object
        A key of the list, a name or target of the zoo, or anything with an attribute ``cites``:
        a theory, a learner, a function.
    format : {"text", "bibtex"}
        One line of text for each reference, or BibTeX entries.

    Examples
    --------
    >>> print(cite("ghorbani2019linearized"))
    Ghorbani, Mei, Misiakiewicz, Montanari (2019). Linearized two-layers neural networks in high
    dimension. arXiv:1904.12191.
    >>> import gradone as gd
    >>> "10.48550" in cite(gd.zoo("parity3")), "arXiv:2405.15480" in cite(gd.zoo("parity3"))
    (False, True)
    """
    if format not in ("text", "bibtex"):
        raise BadData(f"unknown format '{format}' of citations. Known: text, bibtex.")
    papers = [references()[key] for key in cited_keys(obj)]
    if format == "bibtex":
        return "\n\n".join(paper.bibtex for paper in papers)
    return "\n".join(paper.text for paper in papers)


def cited_keys(obj: object) -> tuple[str, ...]:
    """Keys of the references of a thing: see :func:`cite`.

    Examples
    --------
    >>> cited_keys("ba2022onestep")
    ('ba2022onestep',)
    """
    if isinstance(obj, str) and obj in references():
        return (obj,)
    own = getattr(obj, "cites", None)
    if own is None:
        collections: list[Collection] = [CITED[name] for name in CITED]
        own = next((keys for one in collections if (keys := one.cites_of(obj)) is not None), None)
    if own is None:
        if isinstance(obj, str):
            names = [*references(), *(name for one in collections for name in one)]
            raise BadData(
                f"no reference and no target of the zoo is named '{obj}'."
                f"{did_you_mean(obj, names)} `gradone list` shows the names."
            )
        raise BadData(
            f"no references are known for {obj!r}. Cite a key of the list, a target of the zoo, or "
            "an object with `cites`."
        )
    keys = (own,) if isinstance(own, str) else tuple(own)
    for key in keys:
        if key not in references():
            raise BadData(f"unknown reference '{key}'.{did_you_mean(key, references())}")
    return keys
