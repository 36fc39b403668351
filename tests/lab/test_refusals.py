"""Whom the server refuses, before anything is computed; each refusal is a line of its log."""

from __future__ import annotations

import json
import logging
import socket
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from gradone.base.errors import BadData
from gradone.lab.server import settings_for
from gradone.lab.settings import Settings

RUN = {"target": "tanh(z)", "d": 32, "algorithms": ["random_features"], "top": 2.0}


@pytest.fixture(scope="module")
def served(serve: Any) -> Iterator[Any]:
    with serve(Settings(cores=1)) as found:
        yield found


@pytest.fixture
def web(served: Any, caplog: pytest.LogCaptureFixture) -> Iterator[httpx.Client]:
    caplog.set_level(logging.WARNING)
    with httpx.Client(base_url=served.address, timeout=20.0) as client:
        yield client


def sent(served: Any, text: bytes) -> bytes:
    """Answer to bytes as they are: a client would tidy up the address."""
    with socket.create_connection(("127.0.0.1", served.port), timeout=5.0) as found:
        found.sendall(text)
        return found.recv(4096)


@pytest.mark.parametrize(
    ("headers", "status", "words"),
    [
        ({"host": "evil.example"}, 421, "does not answer for the host 'evil.example'"),
        ({"host": "127.0.0.1.evil.example"}, 421, "does not answer for the host"),
        ({"host": ""}, 421, "does not answer for the host"),
        ({"origin": "http://evil.example"}, 403, "requests from other pages are refused"),
        ({"origin": "null"}, 403, "requests from other pages are refused"),
        ({"origin": "http://[evil"}, 403, "requests from other pages are refused"),
        ({"sec-fetch-site": "cross-site"}, 403, "requests from other pages are refused"),
    ],
)
def test_strangers_are_refused(
    web: httpx.Client, caplog: Any, headers: dict[str, str], status: int, words: str
) -> None:
    found = web.post("/api/runs", content=b"{}", headers=headers)
    assert found.status_code == status
    assert words in found.json()["message"]
    assert "refused POST '/api/runs': " in caplog.text
    assert words in caplog.text


ELSEWHERE = [
    "Origin: http://evil.example",
    "Origin: null",
    "Origin: https://127.0.0.1:{port}",
    "Origin: http://127.0.0.1:1",
    "Origin: http://127.0.0.1:{port}\r\nOrigin: http://evil.example",
    "Origin: http://evil.example\r\nOrigin: http://127.0.0.1:{port}",
    "Sec-Fetch-Site: cross-site",
    "Sec-Fetch-Site: same-site",
    "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document",
    "Sec-Fetch-Site: same-origin\r\nSec-Fetch-Site: cross-site",
]


@pytest.mark.parametrize("headers", ELSEWHERE)
def test_other_pages_cannot_ask_either(served: Any, headers: str) -> None:
    """A GET costs as much as any other request, though its answer is not shown to the page."""
    lines = f"GET /api/zoo HTTP/1.1\r\nHost: 127.0.0.1:{served.port}\r\n{headers}\r\n\r\n"
    found = sent(served, lines.format(port=served.port).encode())
    assert found.startswith((b"HTTP/1.1 403 ", b"HTTP/1.1 400 "))


def test_a_link_may_open_the_page(served: Any) -> None:
    from_link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    from_link["sec-fetch-dest"] = "document"
    assert httpx.get(served.address, headers=from_link).status_code == 200
    framed = {**from_link, "sec-fetch-dest": "iframe"}
    assert httpx.get(served.address, headers=framed).status_code == 403
    own = {"sec-fetch-site": "same-origin", "origin": served.address}
    assert httpx.get(f"{served.address}/api/zoo", headers=own).status_code == 200


def test_where_there_is_a_token_nobody_is_answered_without_it(serve: Any) -> None:
    """It comes with the address, stays as a cookie, and programs may send it as a header."""
    token = "right"  # noqa: S105 - of a lab that nobody reaches
    with serve(Settings(cores=1, token=token)) as served:
        for path in ("/", "/health", "/api/zoo", "/static/main.js", "/?token=wrong", "/?token="):
            found = httpx.get(served.address + path)
            assert found.status_code == 401
            assert "open the whole address that it printed" in found.json()["message"]
        wrong = httpx.get(served.address, cookies={f"gradone-lab-{served.port}": "wrong"})
        assert wrong.status_code == 401
        with httpx.Client(base_url=served.address) as web:
            opened = web.get("/?tab=plan&token=right&target=z1*z2")
            assert (opened.status_code, opened.headers["location"]) == (
                303,
                "/?tab=plan&target=z1%2Az2",
            )
            assert "HttpOnly" in opened.headers["set-cookie"]
            assert web.get("/").status_code == 200
            assert web.get("/api/zoo").status_code == 200
        bearer = {"authorization": "Bearer right"}
        assert httpx.get(f"{served.address}/api/zoo", headers=bearer).status_code == 200


def test_other_machines_are_let_in_by_name_and_with_a_token() -> None:
    with pytest.raises(BadData, match="other machines can reach 192.168.0.7: say under which name"):
        settings_for("192.168.0.7")
    with pytest.raises(BadData, match="without a port, got 'lab.example.org:80'"):
        settings_for("0.0.0.0", ["lab.example.org:80"])  # noqa: S104 - nothing listens
    made = [settings_for("::", ["lab.example.org", "2001:db8::1"]) for _ in "12"]
    assert made[0].hosts[:2] == ("lab.example.org", "[2001:db8::1]")
    assert len(made[0].token) >= 32
    assert made[0].token != made[1].token


def test_the_page_itself_is_not_refused(web: httpx.Client, served: Any, caplog: Any) -> None:
    own = {"origin": served.address}
    assert web.post("/api/runs/nothing/cancel", headers=own).status_code == 404
    assert "refused" not in caplog.text


@pytest.mark.parametrize(
    "path",
    [
        "/static/../app.py",
        "/static/%2e%2e/app.py",
        "/assets/..%2f..%2flab%2fapp.py",
        "/assets/..%5c..%5clab%5capp.py",
        "/api/runs/%2e%2e/%2e%2e/etc/passwd",
        "/static/%00/lab.css",
        "//etc/../etc/passwd",
    ],
)
def test_paths_that_lead_outside_are_refused(
    served: Any, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    found = sent(served, f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
    assert found.startswith(b"HTTP/1.1 404 ")
    assert b"import" not in found
    assert "there is nothing at this address" in caplog.text


def test_a_path_does_not_write_lines_of_the_log(
    served: Any, caplog: pytest.LogCaptureFixture
) -> None:
    line = b"GET /static/../%0a2026-01-01%20ERROR%20burning HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
    assert sent(served, line).startswith(b"HTTP/1.1 404 ")
    assert "\\n2026-01-01 ERROR burning" in caplog.text
    assert "\n2026-01-01 ERROR burning" not in caplog.text


def test_what_is_not_http_is_refused(served: Any, caplog: pytest.LogCaptureFixture) -> None:
    assert sent(served, b"hello\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    assert sent(served, b"GET /" + b"x" * 10**5 + b" HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 400 ")
    assert caplog.text.count("Invalid HTTP request received.") == 2


def test_a_body_that_is_too_long_is_not_read(served: Any, caplog: Any) -> None:
    head = b"POST /api/runs HTTP/1.1\r\nHost: 127.0.0.1\r\ncontent-length: 99999999\r\n\r\n"
    assert sent(served, head).startswith(b"HTTP/1.1 413 ")
    assert "refused POST '/api/runs': a request may hold 65536 bytes" in caplog.text


def test_a_body_that_hides_its_length_is_cut(web: httpx.Client, caplog: Any) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(100):
            yield b"x" * 4096

    try:
        status = web.post("/api/runs", content=endless()).status_code
    except httpx.HTTPError:  # closed while it was still being sent
        status = 413
    assert status == 413
    assert "refused POST '/api/runs': a request may hold 65536 bytes" in caplog.text


def test_a_long_address_is_refused(web: httpx.Client, caplog: Any) -> None:
    assert web.get("/api/analyze", params={"target": "z" * 5000}).status_code == 422
    assert "refused GET '/api/analyze': 'target: String should have at most" in caplog.text


@pytest.mark.parametrize(
    "target",
    ["__import__('os').system('id')", "z1" * 900, "(" * 900, "\x00", "z1;z2", "z1`id`", '"' * 9],
)
def test_hostile_expressions_are_refused(web: httpx.Client, caplog: Any, target: str) -> None:
    """In words, without a process, and not as a typist's slip."""
    found = web.get("/api/analyze", params={"target": target})
    assert found.status_code == 422
    assert len(found.json()["message"]) > 10
    assert "refused /api/analyze: the expression " in caplog.text


@pytest.mark.parametrize("target", ["", "z1*", "sgn(z1)", "He2(z1) + z_2", "1/z1", "z1**99"])
def test_slips_are_told_but_not_logged(web: httpx.Client, caplog: Any, target: str) -> None:
    found = web.get("/api/analyze", params={"target": target})
    assert found.status_code == 422
    assert len(found.json()["message"]) > 10
    assert "refused" not in caplog.text


def test_mistakes_are_placed_and_mended(web: httpx.Client) -> None:
    found = web.get("/api/analyze", params={"target": "He2(z1) + sgn(z1*z2)"})
    body = found.json()
    assert found.status_code == 422
    assert (body["column"], body["width"]) == (11, 3)
    assert "Did you mean 'sign'?" in body["hint"]


def test_mistakes_are_told_at_once(web: httpx.Client) -> None:
    """Would catch: headers and body sent apart, each waiting 40 ms for the other side."""
    seconds = []
    for _ in range(10):
        began = time.perf_counter()
        web.get("/api/analyze", params={"target": "z1*"})
        seconds.append(time.perf_counter() - began)
    assert min(seconds) < 0.03


@pytest.mark.parametrize(
    "changes",
    [
        {"d": 10**9},
        {"d": "64"},
        {"seeds": 1000},
        {"seed": True},
        {"algorithms": []},
        {"target": "z1*"},
        {"target": "\ud800"},
        {"view": "other"},
        {"noise": float("nan")},
        {"surprise": 1},
    ],
)
def test_runs_that_make_no_sense_are_refused(web: httpx.Client, changes: dict[str, Any]) -> None:
    body = json.dumps({**RUN, **changes})
    found = web.post("/api/runs", content=body, headers={"content-type": "application/json"})
    assert found.status_code == 422


@pytest.mark.parametrize("key", ["nothing", "%2e%2e%2f", "x" * 500])
@pytest.mark.parametrize("part", ["", "/events", "/picture", "/script", "/report"])
def test_unknown_runs_are_not_found(web: httpx.Client, key: str, part: str) -> None:
    assert web.get(f"/api/runs/{key}{part}").status_code == 404


def test_pages_may_not_load_from_elsewhere(web: httpx.Client) -> None:
    for path in ("/", "/api/zoo", "/nothing"):
        policy = web.get(path).headers["content-security-policy"]
        assert policy.startswith("default-src 'self'")


def test_the_service_describes_itself(web: httpx.Client) -> None:
    """Every operation says what else it may answer; names of operations are different."""
    operations = [
        one for path in web.get("/openapi.json").json()["paths"].values() for one in path.values()
    ]
    names = [one["operationId"] for one in operations]
    assert len(set(names)) == len(names) >= 12
    for one in operations:
        assert {"403", "408", "413", "421", "422", "503"} <= set(one["responses"])
