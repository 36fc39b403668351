"""Addresses of questions: analysis, sources, plan, prediction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import JSONResponse, Response

from ..targets.zoo import zoo
from .desk import Desk
from .schemas import (
    ASKED,
    TYPES,
    ClaimEntry,
    Client,
    Curve,
    Noise,
    Size,
    Sliders,
    Sources,
    Text,
    Theory,
    Top,
    Verdict,
    ZooEntry,
    files_of,
)

router = APIRouter(prefix="/api", responses=ASKED)


def desk_of(request: Request) -> Desk:
    """The desk of the lab that a request came to."""
    found: Desk = request.app.state.desk
    return found


def told(found: Mapping[str, Any]) -> JSONResponse:
    """An answer, or the mistake in the question."""
    if "error" in found:
        return JSONResponse(found["error"], status_code=422)
    return JSONResponse(dict(found))


def mistaken(message: str, status: int = 422) -> JSONResponse:
    """What is wrong with a request."""
    return JSONResponse({"message": message, "column": None}, status_code=status)


def file(content: bytes, suffix: str) -> Response:
    """Content to be saved."""
    name = f'attachment; filename="gradone.{suffix}"'
    return Response(content, media_type=TYPES[suffix], headers={"content-disposition": name})


@router.get("/zoo")
async def the_zoo() -> list[ZooEntry]:
    """Targets of the literature, each with one sentence."""
    return [
        ZooEntry(
            name=e.name,
            section=e.section,
            formula=e.label,
            shows=e.shows,
            typed=e.formula if e.kind == "Target" else e.name,
            noise=e.noise,
        )
        for e in zoo().entries.values()
    ]


@router.get("/atlas")
async def the_atlas() -> list[ClaimEntry]:
    """Claims of the literature, and whether they hold here."""
    from ..gallery import atlas  # the lab starts sooner without the room of figures

    claims = atlas()
    last = claims.recorded()["claims"]
    return [
        ClaimEntry(
            family=e.family,
            name=e.name,
            kind=e.kind,
            statement=e.statement,
            show=e.show.strip(),
            verdict=last[e.name]["verdict"],
        )
        for e in claims.values()
    ]


@router.get("/analyze", response_model=Verdict)
async def analyze(
    request: Request, target: Text, noise: Noise = None, client: Client = ""
) -> Response:
    """Formula, verdict, exponents, energies, stairs."""
    given: dict[str, Any] = {"target": target, "noise": noise}
    return told(await desk_of(request).ask(request, client, "analyze", **given))


@router.get("/sources", response_model=Sources)
async def sources(
    request: Request, target: Text, noise: Noise = None, client: Client = ""
) -> Response:
    """Which theories and simulations cover a target."""
    given: dict[str, Any] = {"target": target, "noise": noise}
    return told(await desk_of(request).ask(request, client, "sources", **given))


@router.get("/plan", response_model=dict[str, Any])
async def plan(
    request: Request,
    target: Text,
    d: Annotated[int, Query(ge=2, le=10**9)],
    n: Size = None,
    width: Size = None,
    noise: Noise = None,
    theory: bool = False,
    client: Client = "",
) -> Response:
    """Ranked table of what each algorithm learns; with errors of theories if one can wait."""
    given = {"target": target, "noise": noise, "d": d, "n": n, "width": width}
    question = "plan with theory" if theory else "plan"
    return told(await desk_of(request).ask(request, client, question, **given))


@router.get("/predict", response_model=Curve, responses=files_of("svg", "png", "csv", "py", "html"))
async def predict(
    request: Request,
    target: Text,
    theory: Theory,
    top: Top = 4.0,
    noise: Noise = None,
    sliders: Sliders = "",
    points: Annotated[int, Query(ge=2, le=48)] = 12,
    quantity: Annotated[str, Query(max_length=20)] = "",
    form: Literal["json", "svg", "png", "csv", "py", "html"] = "json",
    client: Client = "",
) -> Response:
    """Curves of theories: numbers, picture, script, or report."""
    desk, values = desk_of(request), _sliders(sliders)
    if values is None:
        return mistaken("sliders are positive numbers, written as ridge:0.1,width_ratio:2")
    given: dict[str, Any] = {"target": target, "noise": noise, "theory": theory}
    given |= {"top": top, "sliders": values, "points": points}
    if form == "json":
        return told(await desk.ask(request, client, "predict", **given))
    drawn = {"suffix": form, "quantity": quantity, **given}
    found = await desk.ask(request, client, "draw prediction", **drawn)
    return told(found) if "error" in found else file(found["content"], form)


def _sliders(text: str) -> dict[str, float] | None:
    """Values of sliders from ``ridge:0.1,width_ratio:2``; None if they cannot be read."""
    try:
        pairs = [part.split(":") for part in text.split(",") if part]
        found = {name: float(value) for name, value in pairs}
    except ValueError:
        return None
    return found if all(0 < value < 1e6 for value in found.values()) else None
