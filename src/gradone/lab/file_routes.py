"""Addresses of files: what a page shows as a table, a picture, a script or a report."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response

from .question_routes import desk_of, file, told
from .schemas import ASKED, Client, Noise, Size, Text, files_of

router = APIRouter(prefix="/api/files", responses=ASKED)


async def made(request: Request, client: str, question: str, suffix: str, **given: Any) -> Response:
    """File that a process makes, or the mistake in the request."""
    found = await desk_of(request).ask(request, client, question, suffix=suffix, **given)
    return told(found) if "error" in found else file(found["content"], suffix)


@router.get(
    "/verdict",
    responses=files_of("csv", "svg", "png", "py", "html"),
    response_class=Response,
)
async def verdict_file(
    request: Request,
    target: Text,
    noise: Noise = None,
    form: Literal["csv", "svg", "png", "py", "html"] = "csv",
    client: Client = "",
) -> Response:
    """Energies of a target as a table or picture; its verdict as a script or report."""
    given = {"target": target, "noise": noise}
    return await made(request, client, "draw verdict", form, **given)


@router.get("/plan", responses=files_of("csv", "py", "html"), response_class=Response)
async def plan_file(
    request: Request,
    target: Text,
    d: Annotated[int, Query(ge=2, le=10**9)],
    n: Size = None,
    width: Size = None,
    noise: Noise = None,
    form: Literal["csv", "py", "html"] = "csv",
    client: Client = "",
) -> Response:
    """A plan as a table, script or report."""
    given = {"target": target, "noise": noise, "d": d, "n": n, "width": width}
    return await made(request, client, "draw plan", form, **given)
