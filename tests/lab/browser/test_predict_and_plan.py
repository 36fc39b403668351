"""Predictions and plans in a browser: what can be chosen and moved, and the numbers of Python."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

import gradone as gd

Open = Callable[..., Any]
# What stands in the legend alone has no points.
LINES = """() => document.getElementById('predict-plot').data
  .filter((one) => one.x[0] !== null).map((one) => [one.name, one.x, one.y])"""
MARGINS = "#plan-table tbody td:nth-child(3)"


def drawn(page: Any, theory: str) -> list[list[Any]]:
    """Curves on the page when all are there."""
    page.wait_for_selector(f'#predict-plot[data-theory="{theory}"]')
    found: list[list[Any]] = page.evaluate(LINES)
    return found


def press(page: Any, slider: str, key: str, times: int) -> None:
    """Move a slider by keys."""
    page.focus(f"#slider-{slider}")
    for _ in range(times):
        page.keyboard.press(key)


@pytest.mark.filterwarnings("ignore::gradone.theory.KnownBias")
@pytest.mark.parametrize(
    ("target", "theory", "given"),
    [
        ("tanh(z)", "random_features", {"width_ratio": 2.0, "ridge": 1.0}),
        ("sign(z)", "giant_step", {"step_size": 1.0, "width_ratio": 1.0,
                                 "ridge": 0.1}),
        ("sign(z1*z2)", "bayes_amp", {}),
        ("tanh(z)", "reused_batch", {"step_size": 0.3, "width": 2, "steps": 6}),
    ],
)  # fmt: skip
def test_curves_are_those_of_python(
    open_page: Open, target: str, theory: str, given: dict[str, Any]
) -> None:
    page = open_page(f"?tab=predict&theory={theory}&target={quote(target, safe='')}")
    (_, x, y), *_ = drawn(page, theory)
    curve = gd.predict(target, theory, alpha=x, on_failure="mark", **given)
    last = curve.test_mse.isel(step=-1) if "step" in curve.test_mse.dims else curve.test_mse
    assert y == pytest.approx(last.values.ravel().tolist(), rel=1e-9)


def test_every_slider_moves_the_curve(open_page: Open) -> None:
    """alpha, noise, step, width ratio and ridge, one after the other."""
    page = open_page("?tab=predict&target=tanh(z)&theory=giant_step")
    before = drawn(page, "giant_step")
    own = [f"giant_step-{name}" for name in ("step_size", "width_ratio", "ridge")]
    for name in ("top", "noise", *own):
        drawings = page.get_attribute("#predict-plot", "data-drawn")
        press(page, name, "ArrowRight", 8)
        expect(page.locator("#predict-plot")).not_to_have_attribute("data-drawn", drawings)
        after = drawn(page, "giant_step")
        assert after != before, name
        before = after
    assert "noise=0.2" in page.url
    assert "giant_step.step_size" in page.url


def test_several_theories_share_a_picture(open_page: Open) -> None:
    page = open_page("?tab=predict&target=tanh(z)&theory=random_features")
    drawn(page, "random_features")
    page.check("#theories input[value=giant_step]")
    names = [name for name, _, _ in drawn(page, "random_features,giant_step")]
    assert names == ["random features", "giant gradient step"]
    # Another axis is another picture.
    page.check("#theories input[value=sgd]")
    drawn(page, "sgd")
    assert not page.is_checked("#theories input[value=giant_step]")
    # The last one cannot be taken away.
    page.click("#theories input[value=sgd]")
    expect(page.locator("#theories input:checked")).to_have_count(1)


def test_theories_that_do_not_cover_a_target_say_why(open_page: Open) -> None:
    page = open_page("?tab=predict&target=" + quote("z1*z2"))
    box = page.locator("#theories input[value=giant_step]")
    expect(box).to_be_disabled()
    reason = page.locator("#theories label:has(input[value=giant_step]) + .why-not")
    expect(reason).to_contain_text("depends on 2 directions")
    expect(reason).to_be_hidden()
    page.get_by_text("Not for this target").first.click()
    expect(reason).to_be_visible()


def test_quantities_can_be_chosen(open_page: Open) -> None:
    page = open_page("?tab=predict&theory=bayes_amp&target=" + quote("sign(z1*z2)"))
    assert len(drawn(page, "bayes_amp")) == 1
    drawings = page.get_attribute("#predict-plot", "data-drawn")
    page.select_option("#predict-quantity", "cosine2")
    expect(page.locator("#predict-plot")).not_to_have_attribute("data-drawn", drawings)
    curves = drawn(page, "bayes_amp")
    assert len(curves) == 2
    # Nothing is found below pi^2/4, both directions alike above.
    (_, x, first), (_, _, second) = curves
    assert all(y < 1e-6 for a, y in zip(x, first, strict=True) if a < 2.4)
    assert first[-1] > 0.5
    assert first == pytest.approx(second, abs=1e-3)


def test_curves_can_be_taken_away(open_page: Open) -> None:
    page = open_page("?tab=predict&target=tanh(z)&theory=random_features,giant_step")
    drawn(page, "random_features,giant_step")
    with page.expect_download() as waited:
        page.locator("#predict-links").get_by_role("link", name="CSV").click()
    lines = [one for one in Path(waited.value.path()).read_text().splitlines() if one[0] != "#"]
    names = {row["series"] for row in csv.DictReader(lines)}
    assert names == {"random features", "giant gradient step"}
    with page.expect_download() as waited:
        page.locator("#predict-links").get_by_role("link", name="Python script").click()
    assert 'gd.predict(target, "giant_step"' in Path(waited.value.path()).read_text()


@pytest.mark.parametrize("target", ["z1*z2", "He2(z1) + sign(z1*z2*z3)", "tanh(z)"])
def test_the_plan_is_that_of_python(open_page: Open, target: str) -> None:
    sizes = "&plan_d=300&plan_n=2000&plan_width=100"
    page = open_page(f"?tab=plan&target={quote(target, safe='')}{sizes}")
    page.wait_for_selector("#plan-table tbody tr")
    expect(page.locator("#plan-state")).not_to_contain_text("Computing")  # errors of theories
    plan = gd.plan(target, d=300, n=2000, width=100, with_theory=True)
    names = page.locator("#plan-table tbody td:first-child").all_inner_texts()
    assert names == [row.algorithm for row in plan.rows]
    margins = page.locator(MARGINS).all_inner_texts()
    shown = [float(text.replace("−", "-").replace("∞", "inf")) for text in margins]
    assert shown == pytest.approx([row.margin for row in plan.rows], abs=0.0051)
    left = page.locator("#plan-table tbody td:nth-child(4)").all_inner_texts()
    for text, row in zip(left, plan.rows, strict=True):
        if row.plateau is None:
            assert text == "?"
        else:
            assert float(text) == pytest.approx(row.plateau.value, rel=1e-3, abs=1e-12)


def test_the_plan_follows_its_numbers(open_page: Open) -> None:
    page = open_page("?tab=plan&target=" + quote("z1*z2"))
    page.wait_for_selector("#plan-table tbody tr")
    before = page.locator(MARGINS).all_inner_texts()
    page.fill("#plan-n", "1000000")
    expect(page.locator("#plan-state")).to_contain_text("n = 1000000")
    assert page.locator(MARGINS).all_inner_texts() != before
    assert "plan_n=1000000" in page.url
    page.fill("#plan-d", "1")
    expect(page.locator("#plan-state.bad")).to_contain_text("Dimension d")


def test_the_plan_can_be_taken_away(open_page: Open) -> None:
    page = open_page("?tab=plan&target=" + quote("z1*z2"))
    page.wait_for_selector("#plan-table tbody tr")
    with page.expect_download() as waited:
        page.locator("#plan-links").get_by_role("link", name="CSV").click()
    rows = list(csv.DictReader(Path(waited.value.path()).read_text().splitlines()))
    assert rows[0]["algorithm"] == page.inner_text("#plan-table tbody td:first-child")
