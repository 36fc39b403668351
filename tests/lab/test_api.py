"""The lab in small: one process for each kind of work answers what a page asks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

import gradone as gd
from gradone.lab.settings import Settings

pytestmark = pytest.mark.stat  # seconds, most of them for what its processes import
QUICK = {"target": "tanh(z)", "d": 32, "algorithms": ["random_features"], "top": 2.0}


@pytest.fixture(scope="module")
def web(serve: Any) -> Iterator[httpx.Client]:
    """Client of a lab that one core would have."""
    with serve(Settings(cores=1, patience=60.0)) as served:
        with httpx.Client(base_url=served.address, timeout=120.0) as client:
            yield client


@pytest.fixture(scope="module")
def run(web: httpx.Client) -> str:
    """A run that has ended."""
    found = web.post("/api/runs", json={**QUICK, "client": "me"})
    assert found.status_code == 201, found.text
    return str(found.json()["run"])


def at_another_address(web: httpx.Client) -> httpx.Client:
    """Somebody else: Linux has a whole network of addresses of its own."""
    transport = httpx.HTTPTransport(local_address="127.0.0.2")
    return httpx.Client(base_url=web.base_url, transport=transport, timeout=120.0)


def events_of(web: httpx.Client, run: str, **headers: str) -> list[dict[str, Any]]:
    """All events of a run, until it ends."""
    with web.stream("GET", f"/api/runs/{run}/events", headers=headers) as stream:
        lines = [line for line in stream.iter_lines() if line.startswith("data: ")]
    return [json.loads(line[6:]) for line in lines]


@pytest.mark.parametrize("target", ["z1 + z1*z2", "sign(z1*z2*z3)", "sight"])
def test_verdicts_are_those_of_python(web: httpx.Client, target: str) -> None:
    found = web.get("/api/analyze", params={"target": target, "client": "me.verdict"})
    known = gd.zoo().get(target) or gd.Target(target)
    assert found.status_code == 200
    assert found.json()["analysis"] == json.loads(json.dumps(gd.analyze(known).to_dict()))


def test_the_claims_of_the_atlas_have_their_verdicts(web: httpx.Client) -> None:
    found = {one["name"]: one for one in web.get("/api/atlas").json()}
    assert list(found) == list(gd.atlas())
    assert found["phase-retrieval"]["verdict"] == "holds"
    assert found["phase-retrieval"]["show"] == 'gradone analyze "z**2"'


def test_plans_are_those_of_python(web: httpx.Client) -> None:
    sizes = {"d": 300, "n": 2000, "width": 100}
    found = web.get("/api/plan", params={"target": "z1*z2", **sizes}).json()
    assert found == json.loads(json.dumps(gd.plan(gd.Target("z1*z2"), **sizes).to_dict()))


def test_what_covers_a_target_is_told(web: httpx.Client) -> None:
    found = web.get("/api/sources", params={"target": "z1*z2"}).json()
    reasons = {one["key"]: one["reason"] for one in found["theories"]}
    assert reasons["bayes_amp"] is None
    assert "hierarchical targets" in reasons["layerwise"]


def test_a_run_is_told_to_its_end_and_again(web: httpx.Client, run: str) -> None:
    events = events_of(web, run)
    kinds = [event["kind"] for event in events]
    assert (kinds[0], kinds[-1], events[-1]["status"]) == ("begin", "end", "done")
    sources = {event["source"] for event in events if event["kind"] == "curve"}
    assert sources == {"theory:random_features", "simulation:random_features"}
    assert events_of(web, run, **{"last-event-id": "3"}) == events[4:]
    for strange in ("²", "-1", "9" * 5000, "x"):  # as if nothing was seen
        assert events_of(web, run, **{"last-event-id": strange.encode("latin-1")}) == events  # type: ignore[arg-type]
    assert web.get(f"/api/runs/{run}").json()["events"] == events


def test_the_report_of_a_run_can_be_taken_away(web: httpx.Client, run: str) -> None:
    events_of(web, run)
    found = web.get(f"/api/runs/{run}/report")
    assert found.text.startswith("<!doctype html>")
    assert "attachment" in found.headers["content-disposition"]


def test_runs_are_for_algorithms_that_are_there(web: httpx.Client) -> None:
    found = web.post("/api/runs", json={**QUICK, "algorithms": ["rm -rf"]})
    assert found.status_code == 422
    assert found.json()["message"].startswith(
        "these algorithms cannot be watched here: rm -rf. Choose from "
    )


def test_one_address_does_not_fill_the_lab(web: httpx.Client) -> None:
    """Two at work or waiting, whatever it calls itself; others come before the second."""
    long = {**QUICK, "target": "He2(z1)+z2*z3", "d": 400, "algorithms": ["bayes_amp"], "seeds": 8}
    mine = [web.post("/api/runs", json={**long, "client": name}).json()["run"] for name in "ab"]
    refused = web.post("/api/runs", json={**long, "client": "another name"})
    assert refused.status_code == 503
    assert refused.json()["message"].startswith(
        "The lab is busy: this question has place 2 in the queue"
    )
    assert int(refused.headers["retry-after"]) >= 1
    with at_another_address(web) as elsewhere:
        other = elsewhere.post("/api/runs", json=QUICK).json()["run"]
    web.post(f"/api/runs/{mine[0]}/cancel")
    assert events_of(web, other)[-1]["status"] == "done"
    events = web.get(f"/api/runs/{mine[1]}").json()["events"]
    assert [event.get("place") for event in events[:3]] == [1, 2, 1]
    assert web.post(f"/api/runs/{mine[1]}/cancel").json()["status"] == "stopped"
    assert events_of(web, mine[0])[-1]["status"] == "stopped"
