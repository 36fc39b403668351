"""The page in a real browser: what a person sees and does."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

import gradone as gd

playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
expect = playwright.expect

CHROMIUM = shutil.which("chromium")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on this machine"),
]
ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
SECOND = 1000
PATIENCE = 90 * SECOND  # other work may fill the machine
READY = "#panel-target[data-target]"
LONG = "?tab=watch&target=" + quote("He2(z1)+z2*z3") + "&algorithms=bayes_amp&d=400&seeds=8"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """One browser for all tests."""
    with playwright.sync_playwright() as tools:
        found = tools.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield found
        found.close()


Open = Callable[..., Any]


@pytest.fixture
def open_page(browser: Any, lab: str) -> Iterator[Open]:
    """Opens pages; afterwards none may have had an error, or asked anything of another address."""
    problems: list[str] = []
    contexts = []

    def opened(query: str = "", *, width: int = 1200, height: int = 900, bad: bool = False) -> Any:
        context = browser.new_context(viewport={"width": width, "height": height})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(PATIENCE)

        def hear(message: Any) -> None:
            # A refused target is an answer; the browser writes its status down nevertheless.
            if message.type == "error" and not (bad and "422" in message.text):
                problems.append(message.text)

        page.on("console", hear)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on(
            "request",
            lambda request: request.url.startswith(f"{lab}/") or problems.append(request.url),
        )
        page.goto(f"{lab}/{query}")
        return page

    yield opened
    for context in contexts:
        context.close()
    assert problems == []


def test_a_typed_target_gets_its_verdict(open_page: Open) -> None:
    page = open_page()
    page.fill("#target", "sign(z1*z2)")
    page.wait_for_selector('#panel-target[data-target="sign(z1*z2)"]')
    value = float(gd.analyze("sign(z1*z2)").full_threshold)
    assert f"{value:.5f}"[:6] in page.inner_text("#headline")
    assert page.locator("#formula .katex").count() == 1
    assert page.locator("#stairs svg rect").count() >= 1
    assert page.locator("#energies .bars path").count() >= 10
    assert "target=sign" in page.url


@pytest.mark.parametrize(
    "target", ["z1*z2", "He3(z)", "z1 + z1*z2", "sign(z)", "tanh(z)", "z1**2 + z2", "sin(z)",
               "sign(z1*z2)", "relu(z)", "z1*z2 + 0.5*z1"]
)  # fmt: skip
def test_numbers_on_the_page_are_those_of_python(open_page: Open, target: str) -> None:
    page = open_page("?target=" + quote(target, safe=""))
    page.wait_for_selector(READY)
    cards = dict(
        zip(
            page.locator(".card .name").all_inner_texts(),
            page.locator(".card .value").all_inner_texts(),
            strict=True,
        )
    )
    found = gd.analyze(target)
    for name in ("information", "leap", "generative"):
        assert cards[f"{name} exponent"] == str(getattr(found, f"{name}_exponent"))
    assert cards["class"] == found.learnability
    for word, threshold in (("first", found.weak_threshold), ("last", found.full_threshold)):
        shown = [value for name, value in cards.items() if name.startswith(f"{word} direction")]
        for value in filter(lambda text: re.fullmatch(r"[\d.]+", text), shown):
            assert float(value) == pytest.approx(float(threshold), rel=1e-4)


def test_mistakes_are_underlined_where_they_are(open_page: Open) -> None:
    page = open_page(bad=True)
    page.fill("#target", "He2(z1) + sgn(z1*z2)")
    expect(page.locator("#backdrop mark")).to_have_text("sgn", timeout=PATIENCE)
    expect(page.locator("#mistake")).to_contain_text("Did you mean 'sign'?")
    page.fill("#target", "z1")
    page.wait_for_selector('#panel-target[data-target="z1"]')
    expect(page.locator("#mistake")).to_be_hidden()


def test_markup_in_a_target_stays_text(open_page: Open) -> None:
    page = open_page(bad=True)
    page.fill("#target", "<img src=x onerror=alert(1)>")
    expect(page.locator("#mistake")).to_be_visible(timeout=PATIENCE)
    assert page.locator("header img").count() == 0


def test_the_zoo_is_a_menu(open_page: Open) -> None:
    page = open_page()
    page.wait_for_selector("#zoo option[value=parity2]", state="attached")
    page.select_option("#zoo", "parity2")
    page.wait_for_selector('#panel-target[data-target="parity2"]')
    assert "pi**2/4" in page.inner_text("#about")


def test_sliders_move_the_curve(open_page: Open) -> None:
    page = open_page("?tab=predict&target=tanh(z)&theory=random_features")
    page.wait_for_selector("#predict-plot[data-theory=random_features] .scatterlayer path.js-line")
    before = page.get_attribute("#predict-plot .scatterlayer path.js-line", "d")
    assert "not here" in page.inner_text("#theories")
    page.focus("#slider-ridge")
    for _ in range(12):
        page.keyboard.press("ArrowLeft")
    expect(page.locator("#predict-plot .scatterlayer path.js-line")).not_to_have_attribute(
        "d", before, timeout=PATIENCE
    )
    assert "sliders=ridge" in page.url


def test_the_plan_is_a_table(open_page: Open) -> None:
    page = open_page("?tab=plan&target=z1*z2&plan_d=300&plan_n=2000&plan_width=100")
    page.wait_for_selector("#plan-table tbody tr")
    names = page.locator("#plan-table tbody td:first-child").all_inner_texts()
    plan = gd.plan("z1*z2", d=300, n=2000, width=100)
    assert names == [row.algorithm for row in plan.rows]


def test_a_run_streams_and_survives_a_reload(open_page: Open) -> None:
    page = open_page("?tab=watch&target=tanh(z)&algorithms=random_features&d=32&seeds=2")
    page.wait_for_selector("#algorithms input:checked")
    page.click("#start")
    page.wait_for_selector("#watch-plot[data-pieces] .scatterlayer .points path")
    assert "run=" in page.url
    page.reload()
    expect(page.locator("#watch-state")).to_contain_text("done", timeout=PATIENCE)
    # One theory at once, six points for each of two seeds.
    expect(page.locator("#watch-plot")).to_have_attribute("data-pieces", "13")
    with page.expect_download() as waited:
        page.click("text=CSV")
    rows = Path(waited.value.path()).read_text().splitlines()
    assert sum("seed 1" in row for row in rows) == 6
    expect(page.locator("#watch-links")).to_contain_text("HTML report")


def test_a_run_can_be_stopped_from_the_page(open_page: Open) -> None:
    page = open_page(LONG)
    page.wait_for_selector("#algorithms input:checked")
    page.click("#start")
    expect(page.locator("#watch-state")).to_contain_text("running", timeout=PATIENCE)
    page.click("#stop")
    expect(page.locator("#watch-state")).to_contain_text("stopped", timeout=5 * SECOND)


def test_a_reload_in_mid_run_finds_it_again_and_can_stop_it(open_page: Open) -> None:
    page = open_page(LONG)
    page.wait_for_selector("#algorithms input:checked")
    page.click("#start")
    expect(page.locator("#watch-state")).to_contain_text("running", timeout=PATIENCE)
    page.reload()
    expect(page.locator("#watch-state")).to_contain_text("running", timeout=PATIENCE)
    page.click("#stop")
    expect(page.locator("#watch-state")).to_contain_text("stopped", timeout=5 * SECOND)


def test_neurons_move_in_the_plane_of_the_target(open_page: Open) -> None:
    page = open_page("?tab=watch&view=time&algorithms=plain&d=32&target=" + quote("z1 + z1*z2"))
    page.wait_for_selector("#algorithms input:checked")
    page.click("#start")
    page.wait_for_selector("#plane-plot .scatterlayer path.js-line")
    page.click("#stop:not([disabled]), #start")


def test_two_tabs_are_independent(open_page: Open) -> None:
    first, second = open_page("?target=z1*z2"), open_page("?target=sign(z)")
    first.wait_for_selector(READY)
    second.wait_for_selector(READY)
    assert first.inner_text("#headline") != second.inner_text("#headline")
    first.fill("#target", "z1")
    first.wait_for_selector('#panel-target[data-target="z1"]')
    assert second.input_value("#target") == "sign(z)"


@pytest.mark.parametrize("tab", ["target", "predict", "watch", "plan", "tour"])
def test_nothing_is_wider_than_a_phone(open_page: Open, tab: str) -> None:
    page = open_page(f"?tab={tab}&target=z1*z2", width=360, height=740)
    page.wait_for_selector(f"#panel-{tab}:not([hidden])")
    page.wait_for_selector(READY, state="attached")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 360


def test_everything_can_be_done_by_keyboard(open_page: Open) -> None:
    page = open_page("?target=z1*z2")
    page.wait_for_selector(READY)
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.className") == "skip"
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.id") == "target"
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.type("tanh(z)")
    page.wait_for_selector('#panel-target[data-target="tanh(z)"]')
    for _ in range(3):
        page.keyboard.press("Tab")  # noise, zoo, tabs
    page.keyboard.press("ArrowRight")
    assert page.evaluate("() => document.activeElement.id") == "tab-predict"
    page.wait_for_selector("#predict-plot[data-theory]")
    page.keyboard.press("ArrowRight")
    page.wait_for_selector("#algorithms input:checked")
    page.focus("#watch-seeds")
    page.keyboard.press("Enter")  # submits the form that it stands in
    expect(page.locator("#stop")).to_be_enabled(timeout=PATIENCE)
    page.focus("#stop")
    page.keyboard.press("Enter")
    expect(page.locator("#watch-state")).to_contain_text("stopped", timeout=5 * SECOND)


@pytest.mark.parametrize("number", [1, 2])
def test_pages_of_the_tour_have_a_live_example(open_page: Open, number: int) -> None:
    page = open_page(f"?tab=tour&page={number}")
    page.wait_for_selector(f"#tour-plot[data-page='{number}'] .scatterlayer path.js-line")
    assert page.locator("#tour-text p").count() == 2
    assert page.locator("#tour-steps li").count() == 6
    page.click("text=Next page")
    expect(page.locator("#tour-title")).to_contain_text(f"{number + 1}.")


CONTROLS = """() => [...document.querySelectorAll("input, select, button, a")]
  .filter((one) => !(one.labels?.length || one.textContent.trim() || one.ariaLabel))
  .map((one) => one.outerHTML)"""

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
  for (const one of document.querySelectorAll("body *")) {
    const own = [...one.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || one.closest("svg, .katex, #backdrop, :disabled")) continue;
    if (!one.checkVisibility()) continue;
    const [a, b] = [light(getComputedStyle(one).color), light(ground(one))].sort((x, y) => y - x);
    if ((a + 0.05) / (b + 0.05) < 4.5) poor.push(one.outerHTML.slice(0, 120));
  }
  return poor;
}"""


@pytest.mark.parametrize("tab", ["target", "predict", "watch", "plan", "tour"])
def test_controls_have_names_and_text_has_contrast(open_page: Open, tab: str) -> None:
    page = open_page(f"?tab={tab}&target=tanh(z)&theory=random_features")
    waited = {"target": READY, "predict": "#slider-ridge", "watch": "#algorithms label",
              "plan": "#plan-table td", "tour": "#tour-buttons button"}  # fmt: skip
    page.wait_for_selector(waited[tab])
    assert page.evaluate(CONTROLS) == []
    assert page.evaluate(CONTRASTS) == []
