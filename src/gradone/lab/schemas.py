"""What goes over the wire: requests, answers and refusals."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field

_TARGETS = ["tanh(z)", "z1 + z1*z2", "sight"]
Text = Annotated[str, Query(max_length=2000, examples=_TARGETS)]
Noise = Annotated[float | None, Query(ge=0, le=100, allow_inf_nan=False)]
Top = Annotated[float, Query(gt=0.05, le=1000, allow_inf_nan=False)]
Size = Annotated[int | None, Query(ge=2, le=10**9)]
Client = Annotated[str, Query(max_length=40, examples=["4f1c.verdict"])]
Theory = Annotated[str, Query(max_length=200, examples=["random_features", "dot_kernel_ridge"])]
Sliders = Annotated[str, Query(max_length=400, examples=["ridge:0.1,width_ratio:2"])]
Picture = Literal["svg", "png", "csv"]

TYPES = {
    "svg": "image/svg+xml",
    "png": "image/png",
    "gif": "image/gif",
    "csv": "text/csv; charset=utf-8",
    "py": "text/x-python; charset=utf-8",
    "html": "text/html; charset=utf-8",
}
"""Media types of files."""


class RunRequest(BaseModel):
    """What a page asks to be simulated."""

    model_config = ConfigDict(extra="forbid", strict=True)
    target: str = Field(max_length=2000, examples=_TARGETS)
    noise: float | None = Field(None, ge=0, le=100, allow_inf_nan=False)
    d: int = Field(200, ge=16, le=2000)
    seed: int = Field(0, ge=0, le=10**6)
    seeds: int = Field(1, ge=1, le=8)
    view: Literal["samples", "time"] = "samples"
    algorithms: list[Annotated[str, Field(max_length=40)]] = Field(
        min_length=1, max_length=12, examples=[["random_features"], ["sgd"]]
    )
    top: float | None = Field(None, gt=0.05, le=50, allow_inf_nan=False)
    inputs: Literal["gaussian", "rademacher", "uniform", "laplace", "sphere"] = "gaussian"
    directions: Literal["random", "axes"] = "random"
    client: str = Field("", max_length=40)


class Mistake(BaseModel):
    """Why a request has no answer; of an expression also where the mistake is."""

    message: str
    column: int | None = None
    width: int = 0
    hint: str = ""


class Later(BaseModel):
    """The lab is busy: the place in the queue; or it has no answer, and there is no place."""

    message: str
    place: int | None


class Refusal(BaseModel):
    """Why a request was not looked at."""

    message: str


class ZooEntry(BaseModel):
    """A target of the literature."""

    name: str
    section: str
    formula: str
    shows: str
    typed: str
    noise: float


class ClaimEntry(BaseModel):
    """A claim of the literature, with the verdict of the last check."""

    family: str
    name: str
    kind: str
    statement: str
    show: str
    verdict: str


class Verdict(BaseModel):
    """What is known about a target."""

    target: str
    noise: float
    latex: str
    axis: Literal["alpha", "kappa"]
    zoo: dict[str, str] | None
    kind: str
    headline: str
    sentences: list[str]
    cards: list[dict[str, str]]
    facts: list[str]
    energies: list[float]
    tail: float | None
    picture: dict[str, Any] | None
    stairs: list[dict[str, str]]
    analysis: dict[str, Any] | str


class Sources(BaseModel):
    """Who covers a target."""

    axis: Literal["alpha", "kappa"]
    r: int | None
    race: list[dict[str, Any]]
    watched: list[dict[str, str]]
    theories: list[dict[str, Any]]


class Curve(BaseModel):
    """Numbers of theories."""

    marks: dict[str, Any]
    notes: list[str]
    theory: str
    series: list[dict[str, Any]]


class Started(BaseModel):
    """A run that was taken, with its parameters."""

    run: str
    parameters: dict[str, Any]


class State(BaseModel):
    """A run."""

    run: str
    status: Literal["waiting", "running", "done", "failed", "stopped"]
    message: str
    parameters: dict[str, Any]
    events: list[dict[str, Any]]


class Stopped(BaseModel):
    """What became of a run."""

    run: str
    status: Literal["done", "failed", "stopped"]


Responses = dict[int | str, dict[str, Any]]

REFUSED: Responses = {
    status: {"model": Refusal, "description": words}
    for status, words in {
        400: "Not a request of HTTP.",
        403: "Sent by a page of another server.",
        408: "Sent too slowly.",
        413: "Too long.",
        414: "The address is too long.",
        421: "Meant for another host.",
        503: "Busy: try again.",
    }.items()
}
"""What any request may be answered before it is looked at."""

ASKED: Responses = {
    422: {"model": Mistake, "description": "There is a mistake in the question."},
    503: {"model": Later, "description": "Busy, or there is no answer."},
}
"""What a question may be answered."""

FORGOTTEN: Responses = {404: {"model": Mistake, "description": "No such run is known."}}
"""What is said about a run that is not known."""


def files_of(*suffixes: str) -> Responses:
    """Success with a file of one of the kinds."""
    content: dict[str, Any] = {TYPES[one].partition(";")[0]: {} for one in suffixes}
    return {200: {"content": content, "description": "The file."}}
