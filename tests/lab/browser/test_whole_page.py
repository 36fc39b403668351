"""The page as a whole: on a phone, by keys alone, for eyes and screen readers of all kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import expect

Open = Callable[..., Any]
READY = "#panel-target[data-target]"
TABS = ["target", "predict", "watch", "plan", "tour"]
SHOWN = {
    "target": READY,
    "predict": "#predict-plot[data-theory]",
    "watch": "#algorithms label",
    "plan": "#plan-table td",
    "tour": "#tour-plot[data-page]",
}

CONTROLS = """() => [...document.querySelectorAll("input, select, button, a, [role=img], progress")]
  .filter((one) => one.checkVisibility())
  .filter((one) => !(one.labels?.length || one.textContent.trim() || one.ariaLabel))
  .map((one) => one.outerHTML)"""

# Text of the page and of its pictures; large text may have less contrast, ours need not use it.
CONTRASTS = """() => {
  const light = (text) => {
    const [r, g, b] = text.match(/[\\d.]+/g).slice(0, 3).map((v) => v / 255)
      .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (one) => {
    for (let up = one; up; up = up.parentElement) {
      const color = getComputedStyle(up).backgroundColor;
      if (!color.startsWith("rgba(0, 0, 0, 0")) return color;
    }
    return "rgb(255, 255, 255)";
  };
  const poor = [];
  let seen = 0;
  for (const one of document.querySelectorAll("body *")) {
    const own = [...one.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || one.closest(".katex, #backdrop, :disabled, style")) continue;
    if (!one.checkVisibility()) continue;
    const style = getComputedStyle(one), isDrawn = one.closest("svg") !== null;
    const color = isDrawn ? style.fill : style.color;
    if (color === "none" || color.endsWith(", 0)")) continue;
    seen += 1;
    const [a, b] = [light(color), light(ground(one))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) poor.push(`${color} ${one.outerHTML.slice(0, 160)}`);
  }
  return { poor, seen };
}"""


def go(page: Any, selector: str, *, back: bool = False) -> None:
    """Press Tab until an element has the focus."""
    for _ in range(60):
        if page.evaluate("(s) => document.activeElement.matches(s)", selector):
            return
        page.keyboard.press("Shift+Tab" if back else "Tab")
    raise AssertionError(f"{selector} cannot be reached by Tab")


def choose_tab(page: Any, name: str) -> None:
    """Go to a tab by keys."""
    go(page, "[role=tab]")
    page.keyboard.press("Home")
    for _ in range(TABS.index(name)):
        page.keyboard.press("ArrowRight")
    assert page.evaluate("() => document.activeElement.id") == f"tab-{name}"
    page.wait_for_selector(f"#panel-{name}:not([hidden])")


@pytest.mark.parametrize("tab", TABS)
@pytest.mark.parametrize("width", [360, 390])
def test_nothing_is_wider_than_a_phone(open_page: Open, tab: str, width: int) -> None:
    page = open_page(f"?tab={tab}&target=tanh(z)", width=width, height=740)
    page.wait_for_selector(SHOWN[tab])
    assert page.evaluate("() => document.documentElement.scrollWidth") <= width
    # All tabs can be seen without scrolling.
    last = page.locator("#tab-tour").bounding_box()
    assert last["x"] + last["width"] <= width


def test_a_run_on_a_phone_fits(open_page: Open) -> None:
    page = open_page("?tab=watch&view=time&d=32&seeds=2&target=z1*z2", width=390, height=844)
    page.wait_for_selector("#algorithms input:checked")
    page.click("#start")
    page.wait_for_selector("#plane-picture .neuron")
    expect(page.locator("#watch-state")).to_contain_text("done")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("number", range(6))
def test_every_scene_for_a_lecture_is_ready_to_show(open_page: Open, number: int) -> None:
    """Whatever stood on the page before, one choice shows it; its address shows it again."""
    page = open_page("?target=tanh(z)&noise=0.5&seeds=3&sliders=sgd.overlap:0.2&colors=dark")
    page.wait_for_selector(READY)
    expect(page.locator("#scenes option")).to_have_count(7)
    page.select_option("#scenes", str(number))
    page.wait_for_selector("#panels > section:not([hidden])")
    tab = page.evaluate("() => document.body.dataset.tab")
    shown = {**SHOWN, "watch": "#watch-plot[data-pieces]"}[tab]
    page.wait_for_selector(shown)
    expect(page.locator("#mistake")).to_be_hidden()
    assert page.locator(".state.bad").count() == 0
    assert "noise" not in page.url
    assert "colors=dark" in page.url
    if tab == "watch":
        page.click("#stop", force=True)
    target = page.input_value("#target")
    page.reload()
    page.wait_for_selector(shown)
    assert page.input_value("#target") == target


def test_algorithms_that_are_not_chosen_are_folded(open_page: Open) -> None:
    """On a phone the first curve follows the few that are chosen; the others are one touch away."""
    page = open_page("?tab=watch&target=z1*z2", width=390, height=844)
    page.wait_for_selector("#algorithms input:checked")
    boxes = page.locator("#algorithms input")
    assert sum(one.is_visible() for one in boxes.all()) <= 4
    page.get_by_text("More algorithms").click()
    assert sum(one.is_visible() for one in boxes.all()) > 8


def test_the_verdict_by_keys(open_page: Open) -> None:
    page = open_page("?target=z1*z2")
    page.wait_for_selector(READY)
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.className") == "skip"
    go(page, "#target")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("tanh(z)")
    page.wait_for_selector('#panel-target[data-target="tanh(z)"]')
    go(page, "#noise")
    page.keyboard.type("0.5")
    expect(page.locator("#formula")).to_contain_text("0.5")
    go(page, "#zoo")
    page.keyboard.type("parity2")
    page.wait_for_selector('#panel-target[data-target="sign(z1*z2)"]')  # a formula can be edited
    go(page, "#target-links a")
    with page.expect_download():
        page.keyboard.press("Enter")


def test_predictions_by_keys(open_page: Open) -> None:
    page = open_page("?target=tanh(z)&theory=random_features")
    page.wait_for_selector(READY)
    choose_tab(page, "predict")
    page.wait_for_selector('#predict-plot[data-theory="random_features"]')
    go(page, "input[value=giant_step]")
    page.keyboard.press("Space")
    page.wait_for_selector('#predict-plot[data-theory="random_features,giant_step"]')
    go(page, "#slider-giant_step-ridge")
    drawings = page.get_attribute("#predict-plot", "data-drawn")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#predict-plot")).not_to_have_attribute("data-drawn", drawings)
    page.wait_for_selector('#predict-plot[data-theory="random_features,giant_step"]')
    assert "giant_step.ridge" in page.url


def test_runs_by_keys(open_page: Open) -> None:
    page = open_page("?target=tanh(z)&d=32&algorithms=random_features")
    page.wait_for_selector(READY)
    choose_tab(page, "watch")
    page.wait_for_selector("#algorithms input:checked")
    go(page, "#algorithms input[value=giant_step]")
    page.keyboard.press("Space")
    expect(page.locator("#algorithms input[value=giant_step]")).to_be_checked()
    go(page, "#watch-seeds")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("8")
    page.keyboard.press("Enter")  # submits the form that it stands in
    expect(page.locator("#stop")).to_be_enabled()
    expect(page.locator("#watch-state")).to_contain_text("running")
    go(page, "#stop")
    page.keyboard.press("Enter")
    expect(page.locator("#watch-state")).to_contain_text("stopped", timeout=5000)


def test_neurons_by_keys(open_page: Open) -> None:
    page = open_page("?tab=watch&d=32&target=z1*z2")
    page.wait_for_selector("#algorithms input")
    go(page, "input[name=view]")
    page.keyboard.press("ArrowDown")
    page.wait_for_selector("#algorithms input[value=sgd]:checked")
    go(page, "#start")
    page.keyboard.press("Enter")
    page.wait_for_selector("#plane-picture .neuron")
    go(page, "#moment")
    page.keyboard.press("Home")
    begin = page.inner_text("#moment-text")
    page.keyboard.press("End")
    assert page.inner_text("#moment-text") != begin
    go(page, "#play", back=True)
    page.keyboard.press("Enter")
    expect(page.locator("#play")).to_have_attribute("aria-label", "Pause the training")


def test_plans_by_keys(open_page: Open) -> None:
    page = open_page("?target=tanh(z)")
    page.wait_for_selector(READY)
    choose_tab(page, "plan")
    page.wait_for_selector("#plan-table tbody tr")
    go(page, "#plan-n")
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("123456")
    expect(page.locator("#plan-state")).to_contain_text("n = 123456")


def test_the_tour_by_keys(open_page: Open) -> None:
    page = open_page("?target=tanh(z)")
    page.wait_for_selector(READY)
    choose_tab(page, "tour")
    page.wait_for_selector("#tour-plot[data-page='1']")
    go(page, "#tour-buttons .main")
    page.keyboard.press("Enter")
    # The focus is on the title of the new page: a screen reader reads on from there.
    expect(page.locator("#tour-title")).to_be_focused()
    expect(page.locator("#tour-title")).to_have_text("2. One giant step")
    page.wait_for_selector("#tour-plot[data-page='2']")
    go(page, "#tour-sliders input")
    drawings = page.get_attribute("#tour-plot", "data-drawn")
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#tour-plot")).not_to_have_attribute("data-drawn", drawings)
    page.wait_for_selector("#tour-plot[data-page='2']")


@pytest.mark.parametrize("tab", TABS)
@pytest.mark.parametrize("colors", ["light", "dark"])
def test_controls_have_names_and_text_has_contrast(open_page: Open, tab: str, colors: str) -> None:
    query = f"?tab={tab}&target=tanh(z)&theory=random_features,giant_step&page=2&colors={colors}"
    page = open_page(query)
    page.wait_for_selector(SHOWN[tab])
    assert page.evaluate(CONTROLS) == []
    found = page.evaluate(CONTRASTS)
    assert found["poor"] == []
    assert found["seen"] > 20


def test_the_results_of_a_run_have_names_and_contrast(open_page: Open) -> None:
    page = open_page("?tab=watch&view=time&d=32&seeds=2&target=z1*z2")
    page.wait_for_selector("#algorithms input:checked")
    page.click("#start")
    expect(page.locator("#watch-state")).to_contain_text("done")
    assert page.evaluate(CONTROLS) == []
    found = page.evaluate(CONTRASTS)
    assert found["poor"] == []
    assert page.locator("#watch-plot .legendtext").count() >= 4  # they were looked at, too


def test_who_wants_no_motion_gets_none(open_page: Open) -> None:
    def still(page: Any) -> None:
        page.emulate_media(reduced_motion="reduce")

    page = open_page("?tab=watch&view=time&d=32&algorithms=sgd&target=z1*z2", prepare=still)
    page.wait_for_selector("#algorithms input:checked")
    page.click("#start")
    page.wait_for_selector("#plane-picture .neuron")
    expect(page.locator("#play")).to_have_attribute("aria-label", "Play the training")
    assert page.input_value("#moment") == "1"


def test_a_lecture_has_large_type_and_an_address(open_page: Open) -> None:
    page = open_page("?tab=predict&target=tanh(z)&theory=random_features")
    page.wait_for_selector(SHOWN["predict"])

    def size(selector: str) -> float:
        script = "(s) => parseFloat(getComputedStyle(document.querySelector(s)).fontSize)"
        return page.evaluate(script, selector)

    def box(selector: str) -> dict[str, float]:
        return page.locator(selector).first.bounding_box()

    places = ("#tab-predict", "#predict-plot .xtitle")
    before = [size(place) for place in places]
    page.click("#lecture")
    expect(page.locator("#lecture")).to_have_attribute("aria-pressed", "true")
    picture, sliders = box("#predict-plot .main-svg"), box("#sliders")
    assert picture["width"] == pytest.approx(box("#predict-plot")["width"], abs=1)
    assert picture["y"] + picture["height"] <= sliders["y"] + 1  # nothing is covered
    numbers = box("#predict-plot .xaxislayer-above")
    assert box("#predict-plot .xtitle")["y"] >= numbers["y"] + numbers["height"]
    for place, small in zip(places, before, strict=True):
        assert size(place) > 1.2 * small
    assert "size=lecture" in page.url
    page.click("#lecture")
    assert "size=lecture" not in page.url
    assert [size(place) for place in places] == before


def test_two_targets_stand_side_by_side(open_page: Open) -> None:
    page = open_page("?target=tanh(z)", refused=(503,))  # both halves ask at once
    page.wait_for_selector(READY)
    page.click("#beside")
    for side, target in (("left", "tanh(z)"), ("right", "sign(z1*z2)")):
        half = page.frame_locator(f"#{side}")
        expect(half.locator(f'#panel-target[data-target="{target}"]')).to_be_visible()
        expect(half.locator("#beside")).to_be_hidden()
    half.locator("#target").fill("z1*z2")
    page.wait_for_function(
        "() => new URLSearchParams(location.search).get('right').includes('z1*z2')"
    )
