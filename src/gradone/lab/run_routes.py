"""Addresses of runs: start, watch, stop, take away."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import JSONResponse, Response, StreamingResponse

from .desk import address_of
from .question_routes import desk_of, file, mistaken, told
from .runs import Run
from .schemas import (
    ASKED,
    FORGOTTEN,
    Picture,
    RunRequest,
    Started,
    State,
    Stopped,
    files_of,
)

router = APIRouter(prefix="/api/runs", responses=ASKED)
_QUANTITIES = {"time": "recovery", "alpha": "test_mse", "kappa": "excess_mse"}
_EVENTS: dict[int | str, dict[str, Any]] = {
    200: {"content": {"text/event-stream": {}}, "description": "Events as they come."}
}
# Where the key of a run leads, for those who read the description of this service.
_NEXT = ("state", "events", "cancel", "picture", "animation", "script", "report")
_LINKS = {one: {"operationId": one, "parameters": {"key": "$response.body#/run"}} for one in _NEXT}


@router.post("", status_code=201, response_model=Started, responses={201: {"links": _LINKS}})
async def start(request: Request, wanted: RunRequest) -> Response:
    """Start a run; its events are at ``/api/runs/{key}/events``."""
    desk = desk_of(request)
    given: dict[str, Any] = {"target": wanted.target, "noise": wanted.noise}
    found = await desk.ask(request, wanted.client, "sources", **given)
    if "error" in found:
        return told(found)
    known = [one["key"] for one in found["race" if wanted.view == "samples" else "watched"]]
    unknown = [name for name in wanted.algorithms if name not in known]
    if unknown:
        there = f"Choose from {', '.join(known)}." if known else "No algorithm covers this target."
        return mistaken(f"these algorithms cannot be watched here: {', '.join(unknown)}. {there}")
    if wanted.view == "time" and (wanted.inputs, wanted.directions) != ("gaussian", "random"):
        return mistaken("neurons move on Gaussian inputs with random directions only")
    axis = "time" if wanted.view == "time" else found["axis"]
    given = {**wanted.model_dump(), "axis": axis, "quantity": _QUANTITIES[axis]}
    run = desk.runs.start(address_of(request), given)
    return JSONResponse({"run": run.key, "parameters": given}, status_code=201)


@router.get("/{key}", response_model=State, responses=FORGOTTEN)
async def state(request: Request, key: str) -> Response:
    """What a run was asked, what became of it, and all its curves."""
    run = desk_of(request).runs.find(key)
    if run is None:
        return _gone()
    body = {"run": key, "status": run.status, "message": run.message}
    return JSONResponse({**body, "parameters": run.parameters, "events": run.events})


@router.get("/{key}/events", responses={**FORGOTTEN, **_EVENTS}, response_class=StreamingResponse)
async def events(
    request: Request, key: str, last_event_id: Annotated[str | None, Header()] = None
) -> Response:
    """Events of a run as they come, after the last one that was seen."""
    run = desk_of(request).runs.find(key)
    if run is None:
        return _gone()
    number = re.fullmatch("[0-9]{1,9}", last_event_id or "")
    seen = int(number[0]) if number else -1
    headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
    told_live = _told_live(run, seen + 1)
    return StreamingResponse(told_live, media_type="text/event-stream", headers=headers)


@router.post("/{key}/cancel", response_model=Stopped, responses=FORGOTTEN)
async def cancel(request: Request, key: str) -> Response:
    """Stop a run."""
    runs = desk_of(request).runs
    run = runs.find(key)
    if run is None:
        return _gone()
    runs.stop(run)
    return JSONResponse({"run": key, "status": run.status})


@router.get(
    "/{key}/picture",
    responses={**FORGOTTEN, **files_of("svg", "png", "csv")},
    response_class=Response,
)
async def picture(
    request: Request,
    key: str,
    form: Picture = "svg",
    quantity: Literal["test_mse", "excess_mse", "cosine2", "recovery", "overlap"] | None = None,
    shown: Annotated[str, Query(pattern="^(all|mean|s[0-9]{1,7})$")] = "all",
) -> Response:
    """Curves of a run as a picture or a table: of all seeds, of one (`s3`), or their mean."""
    return await _file(request, key, form, quantity, shown)


@router.get("/{key}/animation", responses={**FORGOTTEN, **files_of("gif")}, response_class=Response)
async def animation(request: Request, key: str) -> Response:
    """The neurons of a run on their way, as a moving picture."""
    return await _file(request, key, "gif")


@router.get("/{key}/script", responses={**FORGOTTEN, **files_of("py")}, response_class=Response)
async def script(request: Request, key: str) -> Response:
    """Python script that makes a run again."""
    return await _file(request, key, "py")


@router.get("/{key}/report", responses={**FORGOTTEN, **files_of("html")}, response_class=Response)
async def report(request: Request, key: str) -> Response:
    """Report of a run, with what it has found so far."""
    return await _file(request, key, "html")


async def _file(
    request: Request, key: str, form: str, quantity: str | None = None, shown: str = "all"
) -> Response:
    desk = desk_of(request)
    run = desk.runs.find(key)
    if run is None:
        return _gone()
    quantity = quantity or run.parameters["quantity"]
    given = {**run.parameters, "quantity": quantity, "shown": shown}
    drawn: dict[str, Any] = {"suffix": form, "parameters": given, "events": run.events}
    found = await desk.ask(request, "", "draw run", **drawn)
    return told(found) if "error" in found else file(found["content"], form)


def _gone() -> JSONResponse:
    message = "this run is forgotten: runs are kept for a quarter of an hour. Start it again."
    return mistaken(message, 404)


async def _told_live(run: Run, first: int) -> AsyncIterator[str]:
    async for number, event in run.watch(first):
        if number < 0:
            yield ": still here\n\n"
        else:
            yield f"id: {number}\ndata: {json.dumps(event, allow_nan=False)}\n\n"
