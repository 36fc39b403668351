"""The server of the lab: it checks, passes questions on to processes, and sends what they find."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import as_file, files

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from . import file_routes, question_routes, run_routes
from .crew import Unanswered
from .desk import Desk, Gone
from .guard import Guard
from .questions import Busy
from .schemas import REFUSED
from .settings import Settings

_LOG = logging.getLogger(__name__)


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
        desk = app.state.desk = Desk(chosen)
        warming = asyncio.create_task(desk.warm_up()) if warm else None
        try:
            yield
        finally:
            if warming is not None:
                warming.cancel()
                await asyncio.gather(warming, return_exceptions=True)
            await desk.close()

    app = FastAPI(
        title="gradone lab", lifespan=life, docs_url=None, redoc_url=None, responses=REFUSED,
        generate_unique_id_function=lambda route: route.name,
    )  # fmt: skip
    app.router.redirect_slashes = False
    app.add_middleware(Guard, settings=chosen)
    _add_errors(app)
    app.include_router(question_routes.router)
    app.include_router(run_routes.router)
    app.include_router(file_routes.router)
    _add_pages(app)
    return app


def _add_errors(app: FastAPI) -> None:
    @app.exception_handler(Busy)
    async def busy(request: Request, error: Busy) -> JSONResponse:
        body = {"message": str(error), "place": error.place}
        return JSONResponse(body, 503, headers={"retry-after": str(error.seconds)})

    @app.exception_handler(Unanswered)
    async def unanswered(request: Request, error: Unanswered) -> JSONResponse:
        return JSONResponse({"message": str(error), "place": None}, 503)

    @app.exception_handler(Gone)
    async def gone(request: Request, error: Gone) -> Response:
        return Response(status_code=503)  # nobody reads this

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> JSONResponse:
        return JSONResponse({"message": error.detail}, error.status_code, headers=error.headers)

    @app.exception_handler(RequestValidationError)
    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        parts = [f"{'.'.join(map(str, one['loc'][1:]))}: {one['msg']}" for one in error.errors()]
        words = "; ".join(parts)
        _LOG.warning("refused %s %.80r: %.200r", request.method, request.url.path, words)
        return JSONResponse({"message": words, "column": None}, 422)


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
