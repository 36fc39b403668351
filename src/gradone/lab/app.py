"""The server of the lab: it checks, passes questions on to processes, and sends what they find."""

from __future__ import annotations

import asyncio
import json
import re
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from importlib.resources import as_file, files
from typing import Annotated, Any, Literal

from fastapi import FastAPI, Header, Query, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from fastapi.responses import StreamingResponse as Streaming
from fastapi.staticfiles import StaticFiles
from pydantic import BaseModel, ConfigDict, Field

from ..base.children import child_context
from ..targets.zoo import zoo
from . import answers, scripts
from .contestants import PREDICTED
from .guard import Guard
from .questions import Busy, Questions, Unanswered
from .runs import Run, Runs
from .settings import Settings
from .streams import stream

PRELOAD = ("gradone.lab.warm",)
_KEPT = 256  # answers that are remembered
_LOOK = 0.3  # seconds between looks whether somebody still waits
_NOBODY = {"error": {"message": "nobody waits for this any more", "column": None}}
_REMEMBERED = ("analyze", "sources", "plan", "predict")
_TYPES = {"svg": "image/svg+xml", "png": "image/png", "csv": "text/csv; charset=utf-8"}

Text = Annotated[str, Query(max_length=2000)]
Noise = Annotated[float | None, Query(ge=0, le=100, allow_inf_nan=False)]
Top = Annotated[float, Query(gt=0.05, le=1000, allow_inf_nan=False)]
Size = Annotated[int | None, Query(ge=2, le=10**9)]
Picture = Literal["svg", "png", "csv"]


class RunRequest(BaseModel):
    """What a page asks to be simulated."""

    model_config = ConfigDict(extra="forbid")
    target: str = Field(max_length=2000)
    noise: float | None = Field(None, ge=0, le=100, allow_inf_nan=False)
    d: int = Field(200, ge=16, le=2000)
    seed: int = Field(0, ge=0, le=10**6)
    seeds: int = Field(1, ge=1, le=8)
    view: Literal["samples", "time"] = "samples"
    algorithms: list[Annotated[str, Field(max_length=40)]] = Field(min_length=1, max_length=12)
    top: float | None = Field(None, gt=0.05, le=50, allow_inf_nan=False)
    client: str = Field("", max_length=40)


class Lab:
    """Processes of a lab and what they have answered.

    Parameters
    ----------
    settings : Settings
        Limits.
    """

    def __init__(self, settings: Settings) -> None:
        context = child_context(PRELOAD)
        limits: dict[str, Any] = {
            "waiting": settings.waiting_questions,
            "seconds": settings.question_seconds,
        }
        self.quick = Questions(context, workers=settings.cores, **limits)
        self.slow = Questions(context, workers=settings.cores, **limits)
        self.runs = Runs(context, stream, settings)
        self._known: OrderedDict[str, Mapping[str, Any]] = OrderedDict()

    async def ask(self, request: Request, question: str, **arguments: Any) -> Mapping[str, Any]:
        """Answer of a process, or a remembered one."""
        key = json.dumps([question, arguments], sort_keys=True) if question in _REMEMBERED else ""
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        is_quick = question in ("analyze", "sources") and is_small(arguments["target"])
        crew = self.quick if is_quick else self.slow
        call = {"question": question, "arguments": arguments}

        async def wanted() -> bool:
            return not await request.is_disconnected()

        asking = asyncio.create_task(crew.ask(answers.answer, call, wanted))
        try:
            while not (await asyncio.wait([asking], timeout=_LOOK))[0]:
                if not await wanted():  # somebody typed on: the process is free for others
                    return _NOBODY
            found: Mapping[str, Any] | None = asking.result()
        finally:
            if not asking.done():
                asking.cancel()
                await asyncio.gather(asking, return_exceptions=True)
        if found is None:
            return _NOBODY
        if key:
            self._known[key] = found
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
        return found

    async def warm_up(self) -> None:
        """Start the processes before somebody asks."""
        call = {"question": "warm up", "arguments": {}}
        await asyncio.gather(
            self.quick.warm_up(answers.answer, call), self.slow.warm_up(answers.answer, call)
        )

    async def close(self) -> None:
        """Stop everything."""
        await self.runs.close()
        await asyncio.to_thread(self.quick.close)
        await asyncio.to_thread(self.slow.close)


def is_small(text: str) -> bool:
    """Whether the analysis of a target is surely quick: at most two directions, by its letters.

    Examples
    --------
    >>> is_small("z1*z2"), is_small("z1*z3"), is_small("parity3")
    (True, False, False)
    """
    entry = zoo().entries.get(text.strip())
    if entry is not None:
        text = entry.formula
        if entry.kind != "Target":
            return False
    return not re.search(r"z\s*[3-9]", text)


def create_app(settings: Settings | None = None, *, warm: bool = True) -> FastAPI:
    """The application.

    Parameters
    ----------
    settings : Settings, optional
        Limits.
    warm : bool
        Start the processes at once.
    """
    chosen = settings or Settings()

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        lab = app.state.lab = Lab(chosen)
        warming = asyncio.create_task(lab.warm_up()) if warm else None
        try:
            yield
        finally:
            if warming is not None:
                warming.cancel()
                await asyncio.gather(warming, return_exceptions=True)
            await lab.close()

    app = FastAPI(title="gradone lab", lifespan=life, docs_url=None, redoc_url=None)
    app.router.redirect_slashes = False
    app.add_middleware(Guard, settings=chosen)
    _add_errors(app)
    _add_questions(app)
    _add_runs(app)
    _add_pages(app)
    return app


def _lab(request: Request) -> Lab:
    found: Lab = request.app.state.lab
    return found


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(Busy)
    async def busy(request: Request, error: Busy) -> JSONResponse:
        body = {"message": str(error), "place": error.place}
        return JSONResponse(body, status_code=503, headers={"retry-after": "3"})

    @app.exception_handler(Unanswered)
    async def unanswered(request: Request, error: Unanswered) -> JSONResponse:
        return JSONResponse({"message": str(error), "column": None}, status_code=503)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        parts = [f"{'.'.join(map(str, one['loc'][1:]))}: {one['msg']}" for one in error.errors()]
        return JSONResponse({"message": "; ".join(parts), "column": None}, status_code=422)


def _told(found: Mapping[str, Any]) -> JSONResponse:
    if "error" in found:
        return JSONResponse(found["error"], status_code=422)
    return JSONResponse(dict(found))


def _sliders(text: str) -> dict[str, float] | None:
    """Values of sliders from ``ridge:0.1,width_ratio:2``; None if they cannot be read."""
    try:
        pairs = [part.split(":") for part in text.split(",") if part]
        found = {name: float(value) for name, value in pairs}
    except ValueError:
        return None
    return found if all(0 < value < 1e6 for value in found.values()) else None


def _add_questions(app: FastAPI) -> None:
    @app.get("/api/zoo")
    async def the_zoo() -> list[dict[str, Any]]:
        """Targets of the literature, each with one sentence."""
        entries = zoo().entries.values()
        return [
            {"name": e.name, "section": e.section, "formula": e.label, "shows": e.shows}
            for e in entries
        ]

    @app.get("/api/analyze")
    async def analyze(request: Request, target: Text, noise: Noise = None) -> Response:
        """Formula, verdict, exponents, energies, stairs."""
        return _told(await _lab(request).ask(request, "analyze", target=target, noise=noise))

    @app.get("/api/sources")
    async def sources(request: Request, target: Text, noise: Noise = None) -> Response:
        """Which theories and simulations cover a target."""
        return _told(await _lab(request).ask(request, "sources", target=target, noise=noise))

    @app.get("/api/plan")
    async def plan(
        request: Request,
        target: Text,
        d: Annotated[int, Query(ge=2, le=10**9)],
        n: Size = None,
        width: Size = None,
        noise: Noise = None,
    ) -> Response:
        """Ranked table of what each algorithm learns."""
        sizes = {"d": d, "n": n, "width": width}
        return _told(await _lab(request).ask(request, "plan", target=target, noise=noise, **sizes))

    @app.get("/api/predict")
    async def predict(
        request: Request,
        target: Text,
        theory: Annotated[str, Query(max_length=40)],
        top: Top = 4.0,
        noise: Noise = None,
        sliders: Annotated[str, Query(max_length=400)] = "",
        points: Annotated[int, Query(ge=2, le=48)] = 12,
        form: Literal["json", "svg", "png", "csv", "py"] = "json",
    ) -> Response:
        """Curve of a theory: numbers, picture, or script."""
        values = _sliders(sliders)
        if values is None:
            message = "sliders are positive numbers, as ridge:0.1,width_ratio:2"
            return JSONResponse({"message": message, "column": None}, status_code=422)
        given: dict[str, Any] = {"target": target, "noise": noise, "theory": theory}
        given |= {"top": top, "sliders": values, "points": points}
        if form == "json":
            return _told(await _lab(request).ask(request, "predict", **given))
        if form == "py":
            if theory not in PREDICTED:
                message = f"no curve of '{theory}' here"
                return JSONResponse({"message": message, "column": None}, status_code=422)
            return _file(scripts.prediction_script(**given).encode(), "py", "text/x-python")
        found = await _lab(request).ask(request, "draw prediction", suffix=form, **given)
        return _told(found) if "error" in found else _file(found["content"], form, _TYPES[form])


def _file(content: bytes, suffix: str, kind: str) -> Response:
    name = f'attachment; filename="gradone.{suffix}"'
    return Response(content, media_type=kind, headers={"content-disposition": name})


def _add_runs(app: FastAPI) -> None:
    @app.post("/api/runs", status_code=201)
    async def start(request: Request, wanted: RunRequest) -> Response:
        """Start a run; its events are at ``/api/runs/{key}/events``."""
        lab = _lab(request)
        found = await lab.ask(request, "sources", target=wanted.target, noise=wanted.noise)
        if "error" in found:
            return _told(found)
        known = list(found["rules"])
        if wanted.view == "samples":
            known = [who["key"] for who in found["race"]]
        unknown = [name for name in wanted.algorithms if name not in known]
        if unknown:
            message = f"cannot be watched here: {', '.join(unknown)}. There are: {', '.join(known)}"
            return JSONResponse({"message": message, "column": None}, status_code=422)
        axis = "time" if wanted.view == "time" else found["axis"]
        quantity = {"time": "recovery", "alpha": "test_mse", "kappa": "excess_mse"}[axis]
        owner = f"{request.client.host if request.client else ''}/{wanted.client}"
        given = {**wanted.model_dump(), "axis": axis, "quantity": quantity}
        run = lab.runs.start(owner, given)
        return JSONResponse({"run": run.key, "parameters": given}, status_code=201)

    @app.get("/api/runs/{key}")
    async def state(request: Request, key: str) -> Response:
        """What a run was asked, what became of it, and all its curves."""
        run = _lab(request).runs.find(key)
        if run is None:
            return _gone()
        body = {"run": key, "status": run.status, "message": run.message}
        return JSONResponse({**body, "parameters": run.parameters, "events": run.events})

    @app.get("/api/runs/{key}/events")
    async def events(
        request: Request, key: str, last_event_id: Annotated[str | None, Header()] = None
    ) -> Response:
        """Events of a run as they come, after the last one that was seen."""
        run = _lab(request).runs.find(key)
        if run is None:
            return _gone()
        seen = int(last_event_id) if last_event_id and last_event_id.isdigit() else -1
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        return Streaming(_told_live(run, seen + 1), media_type="text/event-stream", headers=headers)

    @app.post("/api/runs/{key}/cancel")
    async def cancel(request: Request, key: str) -> Response:
        """Stop a run."""
        lab = _lab(request)
        run = lab.runs.find(key)
        if run is None:
            return _gone()
        lab.runs.stop(run)
        return JSONResponse({"run": key, "status": run.status})

    @app.get("/api/runs/{key}/picture")
    async def picture(
        request: Request,
        key: str,
        form: Picture = "svg",
        quantity: Literal["test_mse", "excess_mse", "cosine2", "recovery"] | None = None,
    ) -> Response:
        """All curves of a run as a picture or a table."""
        lab = _lab(request)
        run = lab.runs.find(key)
        if run is None:
            return _gone()
        given = {**run.parameters, "quantity": quantity or run.parameters["quantity"]}
        found = await lab.ask(request, "draw run", suffix=form, parameters=given, events=run.events)
        return _told(found) if "error" in found else _file(found["content"], form, _TYPES[form])

    @app.get("/api/runs/{key}/script")
    async def script(request: Request, key: str) -> Response:
        """Python script that makes a run again."""
        run = _lab(request).runs.find(key)
        if run is None:
            return _gone()
        return _file(scripts.run_script(run.parameters).encode(), "py", "text/x-python")

    @app.get("/api/runs/{key}/report")
    async def report(request: Request, key: str) -> Response:
        """The report of a run that was not stopped."""
        run = _lab(request).runs.find(key)
        if run is None:
            return _gone()
        if run.report is None:
            message = "the report is written when a race along the samples has ended by itself"
            return JSONResponse({"message": message}, status_code=409)
        return _file(run.report.encode(), "html", "text/html; charset=utf-8")


def _gone() -> JSONResponse:
    message = "this run is forgotten: runs are kept for a quarter of an hour. Start it again."
    return JSONResponse({"message": message, "column": None}, status_code=404)


async def _told_live(run: Run, first: int) -> AsyncIterator[str]:
    async for number, event in run.watch(first):
        if number < 0:
            yield ": still here\n\n"
        else:
            yield f"id: {number}\ndata: {json.dumps(event, allow_nan=False)}\n\n"


def _add_pages(app: FastAPI) -> None:
    with as_file(files(__package__).joinpath("static")) as own:
        folder = own
    with as_file(files("gradone.charts").joinpath("assets")) as found:
        assets = found

    @app.get("/", include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(folder / "index.html")

    @app.get("/favicon.ico", include_in_schema=False)
    async def icon() -> FileResponse:
        return FileResponse(folder / "icon.svg", media_type="image/svg+xml")

    @app.get("/health", include_in_schema=False)
    async def health() -> PlainTextResponse:
        return PlainTextResponse("ok")

    app.mount("/static", StaticFiles(directory=folder), name="static")
    app.mount("/assets", StaticFiles(directory=assets), name="assets")
