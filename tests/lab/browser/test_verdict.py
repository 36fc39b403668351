"""The verdict in a browser: typing, mistakes, the zoo, and the numbers of Python."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import expect

import gradone as gd
from gradone.targets.summary import hermite_energies

Open = Callable[..., Any]
READY = "#panel-target[data-target]"
TARGETS = [
    "z1*z2", "He3(z)", "z1 + z1*z2", "sign(z)", "tanh(z)", "z1**2 + z2", "sin(z)",
    "sign(z1*z2)", "relu(z)", "He2(z1) + sign(z1*z2*z3)",
]  # fmt: skip

# From the last key to the verdict on the page, by the clock of the page.
TIMED = """() => new Promise((resolve) => {
  let last = 0;
  const field = document.getElementById("target"), panel = document.getElementById("panel-target");
  field.addEventListener("keydown", () => { last = performance.now(); });
  const observer = new MutationObserver(() => {
    if (panel.getAttribute("data-target") === field.value) {
      window.waited = performance.now() - last;
    }
  });
  observer.observe(panel, { attributes: true, attributeFilter: ["data-target"] });
  resolve(true);
})"""


def cards(page: Any) -> dict[str, str]:
    """Cards of the page: name to value."""
    names = page.locator(".card .name").all_inner_texts()
    return dict(zip(names, page.locator(".card .value").all_inner_texts(), strict=True))


def test_a_typed_target_gets_its_verdict(open_page: Open) -> None:
    page = open_page()
    page.fill("#target", "sign(z1*z2)")
    page.wait_for_selector('#panel-target[data-target="sign(z1*z2)"]')
    assert f"π²/4 = {math.pi**2 / 4:.4g}" in page.inner_text("#headline")
    assert page.locator("#formula .katex").count() == 1
    assert page.locator("#stairs svg rect").count() >= 1
    assert page.locator("#energies .bars path").count() >= 10
    assert "target=sign" in page.url


@pytest.mark.parametrize("target", TARGETS)
def test_numbers_on_the_page_are_those_of_python(open_page: Open, target: str) -> None:
    page = open_page("?target=" + quote(target, safe=""))
    page.wait_for_selector(READY)
    shown: dict[str, str] = cards(page)
    found: Any = gd.analyze(target)
    for name in ("information", "leap", "generative"):
        assert shown[f"{name} exponent"] == str(getattr(found, f"{name}_exponent"))
    assert shown["class"] == found.learnability
    for word, threshold in (("first", found.weak_threshold), ("last", found.full_threshold)):
        card = [value for name, value in shown.items() if name.startswith(f"{word} direction")]
        assert len(card) <= 1
        for value in filter(re.compile(r"[\d.]+").fullmatch, card):
            # The page shows digits that the error allows: half a unit of the last one.
            digits = len(value.partition(".")[2])
            assert float(value) == pytest.approx(float(threshold), abs=0.51 * 10.0**-digits)
    bars = page.evaluate("() => document.getElementById('energies').data.map((one) => one.y)")
    heights = [height for bar in bars for height in bar]
    for energy in hermite_energies(gd.Target(target)).values:
        nearest = min(abs(height - energy.value) for height in heights)
        assert nearest <= 1e-9 + energy.error


def test_the_verdict_comes_within_half_a_second(open_page: Open) -> None:
    """From the last key to the page; other work on the machine may spoil one measurement."""
    page = open_page("?target=z1")
    page.wait_for_selector(READY)
    page.evaluate(TIMED)
    seen = []
    for number in ("3", "5", "7"):  # new targets, that no answer is remembered for
        target = f"tanh(z1)/{number} + z2"
        page.focus("#target")
        page.keyboard.press("ControlOrMeta+a")
        page.keyboard.type(target, delay=40)
        page.wait_for_selector(f'#panel-target[data-target="{target}"]')
        seen.append(page.evaluate("() => window.waited"))
        if seen[-1] < 550:
            break
    assert min(seen) < 550, f"milliseconds: {seen}"


def test_the_first_paint_comes_soon(open_page: Open) -> None:
    found = []
    for _ in range(3):
        page = open_page()
        page.wait_for_selector(READY)
        name = "first-contentful-paint"
        found.append(page.evaluate(f"() => performance.getEntriesByName('{name}')[0].startTime"))
        if found[-1] < 1500:
            break
    assert min(found) < 1500, f"milliseconds: {found}"


def test_mistakes_are_underlined_where_they_are(open_page: Open) -> None:
    page = open_page(refused=(422,))
    page.fill("#target", "He2(z1) + sgn(z1*z2)")
    expect(page.locator("#backdrop mark")).to_have_text("sgn")
    expect(page.locator("#mistake")).to_contain_text("Did you mean 'sign'?")
    # The mark stands under the letters of the field.
    mark = page.locator("#backdrop mark").bounding_box()
    field = page.locator("#target").bounding_box()
    assert field["x"] < mark["x"] < field["x"] + field["width"]
    page.fill("#target", "z1")
    page.wait_for_selector('#panel-target[data-target="z1"]')
    expect(page.locator("#mistake")).to_be_hidden()
    expect(page.locator("#backdrop mark")).to_have_count(0)


def test_who_begins_with_a_mistake_finds_examples(open_page: Open) -> None:
    page = open_page("?target=z1*", refused=(422,))
    page.get_by_role("button", name="sign(z1*z2)", exact=True).click()
    page.wait_for_selector('#panel-target[data-target="sign(z1*z2)"]')
    expect(page.locator("#unread")).to_be_hidden()


@pytest.mark.parametrize("tab", ["predict", "watch", "plan"])
def test_other_tabs_say_what_is_wrong_with_a_target(open_page: Open, tab: str) -> None:
    page = open_page(f"?tab={tab}&target=z1*", refused=(422,))
    expect(page.locator("#mistake")).to_be_visible()
    expect(page.locator(f"#{tab}-state.bad")).not_to_be_empty()


def test_a_wrong_noise_is_told(open_page: Open) -> None:
    page = open_page("?target=z1")
    page.wait_for_selector(READY)
    page.fill("#noise", "-1")
    expect(page.locator("#mistake")).to_contain_text("Noise")
    page.fill("#noise", "0.25")
    expect(page.locator("#mistake")).to_be_hidden()
    expect(page.locator("#formula")).to_contain_text("0.25")


def test_markup_in_a_target_stays_text(open_page: Open) -> None:
    page = open_page(refused=(422,))
    page.fill("#target", "<img src=x onerror=alert(1)>")
    expect(page.locator("#mistake")).to_be_visible()
    assert page.locator("header img").count() == 0


def test_the_zoo_is_a_menu(open_page: Open) -> None:
    page = open_page()
    page.wait_for_selector("#zoo option[value=parity2]", state="attached")
    known = {name for name in gd.zoo()}
    menu = page.locator("#zoo option").all()
    assert {one.get_attribute("value") for one in menu} == known | {""}
    assert all(": " in one.inner_text() for one in menu[1:])  # one sentence each
    page.select_option("#zoo", "parity2")
    page.wait_for_selector('#panel-target[data-target="sign(z1*z2)"]')  # it can be edited
    assert "π²/4" in page.inner_text("#about")


def test_an_empty_target_says_what_to_do(open_page: Open) -> None:
    page = open_page("?target=z1*z2")
    page.wait_for_selector(READY)
    page.fill("#target", "")
    expect(page.locator("#mistake")).to_contain_text("Type a target, for example z1*z2")
    page = open_page("?target=")
    expect(page.locator("#mistake")).to_contain_text("Type a target, for example z1*z2")
    page.click("#examples button")
    page.wait_for_selector(READY)


def test_back_goes_to_the_last_tab(open_page: Open) -> None:
    page = open_page("?target=z1*z2")
    page.wait_for_selector(READY)
    page.click("#tab-plan")
    expect(page.locator("#panel-plan")).to_be_visible()
    page.go_back()
    expect(page.locator("#panel-target")).to_be_visible()
    expect(page.locator("#panel-plan")).to_be_hidden()


def test_a_deep_target_has_its_levels(open_page: Open) -> None:
    page = open_page("?target=sight")
    page.wait_for_selector(READY)
    assert page.locator("#formula .katex").count() == 4  # a line for each equation
    assert page.locator("#stairs svg").count() == 1


def test_two_tabs_are_independent(open_page: Open) -> None:
    first, second = open_page("?target=z1*z2"), open_page("?target=sign(z)")
    first.wait_for_selector(READY)
    second.wait_for_selector(READY)
    assert first.inner_text("#headline") != second.inner_text("#headline")
    first.fill("#target", "z1")
    first.wait_for_selector('#panel-target[data-target="z1"]')
    assert second.input_value("#target") == "sign(z)"
    assert "z1" not in second.url


@pytest.mark.parametrize(
    ("name", "begin"),
    [("CSV", "panel,"), ("SVG", "<?xml"), ("Python script", '"""'), ("HTML report", "<!doctype")],
)
def test_the_verdict_can_be_taken_away(open_page: Open, name: str, begin: str) -> None:
    page = open_page("?target=z1*z2")
    page.wait_for_selector(READY)
    with page.expect_download() as waited:
        page.get_by_role("link", name=name, exact=True).click()
    with open(waited.value.path(), encoding="utf-8") as file:
        assert file.read().startswith(begin)


def test_the_address_can_be_shared(open_page: Open, lab: str) -> None:
    page = open_page("?target=z1*z2")
    page.wait_for_selector(READY)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=lab)
    page.click("#share")
    expect(page.locator("#shared")).to_contain_text("copied")
    assert page.evaluate("() => navigator.clipboard.readText()") == page.url
