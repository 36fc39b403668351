"""Runs in a browser: they stream, stop, survive a reload, and can be taken away."""

from __future__ import annotations

import csv
import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from PIL import Image
from playwright.sync_api import expect

Open = Callable[..., Any]
SECOND = 1000
# The theory of random features comes at once, message passing takes minutes.
LONG = "?tab=watch&algorithms=bayes_amp,random_features&d=400&seeds=8&target=" + quote(
    "He2(z1)+z2*z3"
)
QUICK = "?tab=watch&target=tanh(z)&algorithms=random_features&d=32"
TIME = "?tab=watch&view=time&d=64&target=" + quote("z1 + z1*z2")
TRACES = """() => document.getElementById("watch-plot").data
  .map((one) => ({ name: one.name, mode: one.mode, bars: one.error_y?.visible }))"""
PLACES = """() => [...document.querySelectorAll("#plane-picture .neuron")]
  .map((one) => [Number(one.getAttribute("cx")), Number(one.getAttribute("cy"))])"""


def begin(page: Any) -> None:
    """Press Start when the algorithms are there."""
    page.wait_for_selector("#algorithms input:checked")
    page.click("#start")


def run_to_end(page: Any) -> None:
    """Start a run and wait for its end."""
    begin(page)
    expect(page.locator("#watch-state")).to_contain_text("done")


@pytest.mark.parametrize(
    ("target", "algorithms", "quantity", "labels"),
    [
        ("tanh(z)", "random_features,giant_step,sgd,reused_batch", "test_mse",
         {"random features", "giant gradient step", "one pass of SGD", "samples seen again"}),
        ("sign(z)", "bayes_amp,spectral_directions,sgd", "cosine2",
         {"message passing (AMP)", "spectral method", "one pass of SGD"}),
        ("sight", "layerwise,two_layers,dot_kernel_ridge", "excess_mse",
         {"three layers", "two layers", "kernel"}),
    ],
    ids=["errors", "directions", "depth"],
)  # fmt: skip
def test_algorithms_race_on_one_picture_with_their_theories(
    open_page: Open, target: str, algorithms: str, quantity: str, labels: set[str]
) -> None:
    size = 32 if target != "sight" else 16
    page = open_page(f"?tab=watch&target={target}&algorithms={algorithms}&d={size}")
    begin(page)
    page.wait_for_selector("#watch-plot[data-pieces]")
    page.select_option("#quantity", quantity)
    expect(page.locator("#watch-state")).to_contain_text("done")
    traces = page.evaluate(TRACES)
    assert {one["name"] for one in traces} >= labels
    assert {one["mode"] for one in traces} >= {"lines", "markers"}  # theory and simulation


def test_a_run_streams_and_survives_a_reload(open_page: Open) -> None:
    page = open_page(f"{QUICK}&seeds=2")
    begin(page)
    page.wait_for_selector("#watch-plot[data-pieces]")
    assert "run=" in page.url
    page.reload()
    expect(page.locator("#watch-state")).to_contain_text("done")
    # One theory at once, six points for each of two seeds.
    expect(page.locator("#watch-plot")).to_have_attribute("data-pieces", "13")
    with page.expect_download() as waited:
        page.locator("#watch-links").get_by_role("link", name="CSV").click()
    rows = Path(waited.value.path()).read_text().splitlines()
    assert sum("seed 1" in row for row in rows) == 6


def test_seeds_can_be_compared(open_page: Open) -> None:
    page = open_page(f"{QUICK}&seeds=3")
    run_to_end(page)
    assert len(page.evaluate(TRACES)) == 4  # the theory, and each seed
    page.select_option("#seed-shown", "s1")
    expect(page.locator("#watch-plot .scatterlayer .trace")).to_have_count(2)
    page.select_option("#seed-shown", "mean")
    expect(page.locator("#watch-text")).to_contain_text("spread between the seeds")
    assert [one["bars"] for one in page.evaluate(TRACES) if one["mode"] == "markers"] == [True]


def test_a_run_can_be_stopped_and_keeps_what_it_found(open_page: Open) -> None:
    page = open_page(LONG)
    begin(page)
    page.wait_for_selector("#watch-plot[data-pieces]")
    page.click("#stop")
    expect(page.locator("#watch-state")).to_contain_text("stopped", timeout=5 * SECOND)
    expect(page.locator("#stop")).to_be_disabled()
    with page.expect_download() as waited:
        page.locator("#watch-links").get_by_role("link", name="HTML report").click()
    text = Path(waited.value.path()).read_text()
    assert "not complete" in text
    assert "random features, theory" in text


def test_a_reload_in_mid_run_finds_it_again_and_can_stop_it(open_page: Open) -> None:
    page = open_page(LONG)
    begin(page)
    expect(page.locator("#watch-state")).to_contain_text("running")
    run = page.url.partition("run=")[2]
    page.reload()
    expect(page.locator("#watch-state")).to_contain_text("running")
    assert page.url.partition("run=")[2] == run
    page.click("#stop")
    expect(page.locator("#watch-state")).to_contain_text("stopped", timeout=5 * SECOND)


def test_a_second_tab_sees_the_same_run(open_page: Open) -> None:
    first = open_page(f"{QUICK}&seeds=2")
    begin(first)
    expect(first.locator("#watch-state")).to_contain_text("running")
    second = open_page(first.url.partition("/?")[2].join(["?", ""]))
    for page in (first, second):
        expect(page.locator("#watch-state")).to_contain_text("done")
        expect(page.locator("#watch-plot")).to_have_attribute("data-pieces", "13")


def test_a_forgotten_run_is_made_again_from_its_address(open_page: Open) -> None:
    given = "?tab=watch&target=z1&d=16&algorithms=random_features&run=nothing"
    page = open_page(given, refused=(404,))
    expect(page).to_have_url(re.compile(r"run=(?!nothing)\w"))


def test_neurons_move_in_the_plane_of_the_target(open_page: Open) -> None:
    page = open_page(f"{TIME}&algorithms=sgd")
    begin(page)
    page.wait_for_selector("#plane-picture .neuron")
    # The training plays by itself.
    seen = []
    for _ in range(3):
        seen.append(page.evaluate(PLACES))
        page.wait_for_timeout(700)
    assert len(seen[0]) == 4
    assert seen[0] != seen[1] != seen[2]
    expect(page.locator("#watch-state")).to_contain_text("done")
    # The clock can be moved: neurons start on the small circles.
    if page.get_attribute("#play", "aria-label") == "Pause the training":
        page.click("#play")
    page.focus("#moment")
    page.keyboard.press("Home")
    starts = page.evaluate(PLACES.replace(".neuron", ".start"))
    assert page.evaluate(PLACES) == [pytest.approx(one, abs=0.1) for one in starts]
    page.keyboard.press("End")
    far = page.evaluate(PLACES)
    away = [abs(x - a) + abs(y - b) for (x, y), (a, b) in zip(far, starts, strict=True)]
    assert max(away) > 30  # of 360
    assert page.locator("#plane-picture .trail.theory").count() == 4


def test_paths_are_those_of_the_numbers(open_page: Open, lab: str) -> None:
    page = open_page(f"{TIME}&algorithms=sgd,extragradient&seeds=2")
    run_to_end(page)
    with page.expect_download() as waited:
        page.locator("#watch-links").get_by_role("link", name="CSV").click()
    lines = [one for one in Path(waited.value.path()).read_text().splitlines() if one[0] != "#"]
    names = {row["series"] for row in csv.DictReader(lines)}
    assert "extra-gradient, theory, z2" in names
    assert "one pass of SGD, z1, seed 1" in names
    # Across and up can be any two directions, or what lies outside of them.
    before = page.evaluate(PLACES)
    page.select_option("#plane-y", "outside")
    assert page.evaluate(PLACES) != before


def test_moving_neurons_can_be_taken_away(open_page: Open) -> None:
    page = open_page(f"{TIME}&algorithms=sgd")
    run_to_end(page)
    with page.expect_download() as waited:
        page.locator("#watch-links").get_by_role("link", name="GIF").click()
    with Image.open(waited.value.path()) as picture:
        assert picture.format == "GIF"
        assert picture.n_frames == 60


def test_what_is_taken_away_is_what_is_shown(open_page: Open) -> None:
    """The mean of two seeds, in time with the mean of their flows: the numbers of the screen."""
    page = open_page(f"{TIME}&algorithms=sgd&seeds=2")
    run_to_end(page)
    page.select_option("#seed-shown", "mean")
    expect(page.locator("#watch-text")).to_contain_text("spread between the seeds")
    screen = page.evaluate(
        "() => document.getElementById('watch-plot').data.filter((one) => one.x.length > 1)"
        ".map((one) => [one.mode, Array.from(one.y).at(-1)])"
    )
    with page.expect_download() as waited:
        page.locator("#watch-links").get_by_role("link", name="CSV").click()
    lines = [one for one in Path(waited.value.path()).read_text().splitlines() if one[0] != "#"]
    last = {row["series"]: float(row["y"]) for row in csv.DictReader(lines)}
    assert set(last) == {
        f"one pass of SGD, {name}" for name in ("theory, z1", "theory, z2", "z1, mean", "z2, mean")
    }
    assert sorted(y for _, y in screen) == pytest.approx(sorted(last.values()), rel=1e-6)


def test_one_direction_is_drawn_against_the_rest(open_page: Open) -> None:
    page = open_page("?tab=watch&view=time&d=64&algorithms=extragradient&target=He3(z)")
    begin(page)
    page.wait_for_selector("#plane-picture .neuron")
    assert page.input_value("#plane-y") == "outside"


LINES = """() => document.getElementById("watch-plot").data
  .filter((one) => one.mode === "lines").map((one) => Array.from(one.y).at(-1))"""


def test_a_race_on_other_inputs(open_page: Open) -> None:
    """On a coordinate of the cube sign(z) is linear: random features err less, in line and points.

    The choice is in the address, survives a reload, and is not offered where neurons move.
    """
    page = open_page("?tab=watch&target=sign(z)&algorithms=random_features&d=32")
    run_to_end(page)
    [gaussian] = page.evaluate(LINES)
    page.select_option("#watch-inputs", "rademacher")
    page.select_option("#watch-directions", "axes")
    assert "inputs=rademacher" in page.url
    assert "directions=axes" in page.url
    page.click("#start")
    expect(page.locator("#watch-state")).to_contain_text("done")
    page.reload()
    expect(page.locator("#watch-state")).to_contain_text("done")
    assert page.input_value("#watch-inputs") == "rademacher"
    assert page.input_value("#watch-directions") == "axes"
    [cube] = page.evaluate(LINES)
    assert cube < 0.8 * gaussian
    with page.expect_download() as waited:
        page.locator("#watch-links").get_by_role("link", name="Python").click()
    assert ".on('rademacher', 'axes')" in Path(waited.value.path()).read_text()
    page.check("input[name=view][value=time]")
    expect(page.locator("#watch-laws")).to_be_hidden()


def test_a_target_that_is_constant_on_its_inputs_is_told(open_page: Open) -> None:
    page = open_page(
        "?tab=watch&target=He2(z)&algorithms=random_features&d=32&inputs=rademacher&directions=axes",
        refused=(400, 422),
    )
    begin(page)
    expect(page.locator("#watch-state")).to_contain_text("is constant on these inputs")


def test_neurons_are_not_for_deep_targets(open_page: Open) -> None:
    page = open_page("?tab=watch&view=time&target=sight")
    expect(page.locator("#algorithms")).to_contain_text("fixed number of directions")
    expect(page.locator("#start")).to_be_disabled()


def test_bad_numbers_do_not_start(open_page: Open) -> None:
    page = open_page(QUICK)
    page.wait_for_selector("#algorithms input:checked")
    page.fill("#watch-d", "3")
    page.click("#start")
    assert page.evaluate("() => document.getElementById('watch-d').checkValidity()") is False
    assert "run=" not in page.url
    page.fill("#watch-d", "32")
    page.click("#algorithms input[value=random_features]")
    page.click("#start")
    expect(page.locator("#watch-state.bad")).to_contain_text("at least one algorithm")


def busy_first(path: str, times: int, place: int) -> Callable[[Any], None]:
    """A server that is busy for the first questions of a kind."""
    left = [times]

    def answer(route: Any) -> None:
        if left[0] == 0:
            route.continue_()
            return
        left[0] -= 1
        body = json.dumps(
            {
                "message": f"The lab is busy: this question has place {place} in the queue.",
                "place": place,
            }
        )
        headers = {"retry-after": "1", "content-type": "application/json"}
        route.fulfill(status=503, headers=headers, body=body)

    return lambda page: page.route(path, answer)


def test_a_busy_lab_is_told_and_asked_again(open_page: Open) -> None:
    prepare = busy_first("**/api/analyze*", 2, 7)
    began = time.monotonic()
    page = open_page("?target=z1*z2", refused=(503,), prepare=prepare)
    expect(page.locator("#busy")).to_contain_text("place 7 in the queue")
    page.wait_for_selector("#panel-target[data-target]")
    assert time.monotonic() - began > 2.0  # it waited as it was asked to
    expect(page.locator("#busy")).to_be_hidden()


def test_a_start_that_waits_can_be_given_up(open_page: Open) -> None:
    page = open_page(QUICK, refused=(503,), prepare=busy_first("**/api/runs", 1000, 3))
    begin(page)
    expect(page.locator("#busy")).to_contain_text("place 3")
    page.click("#stop")
    expect(page.locator("#watch-state")).to_contain_text("stopped before it began")
    expect(page.locator("#busy")).to_be_hidden()
    expect(page.locator("#start")).to_be_enabled()


def test_an_answer_that_takes_too_long_is_not_asked_again(open_page: Open) -> None:
    asked = []

    def refuse(route: Any) -> None:
        asked.append(route.request.url)
        body = json.dumps({"message": "no answer within 30 seconds", "place": None})
        route.fulfill(status=503, headers={"content-type": "application/json"}, body=body)

    page = open_page(
        "?tab=plan&target=z1", refused=(503,), prepare=lambda one: one.route("**/api/plan*", refuse)
    )
    expect(page.locator("#plan-state.bad")).to_contain_text("no answer within 30 seconds")
    page.wait_for_timeout(1500)
    assert len(asked) == 1
