"""The report: one file, everything in its place, also what failed; drawn in a real browser."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import gradone as gd
from gradone.base.children import Outcome
from gradone.report.compared_panels import depth_limit
from gradone.report.page import page as page_of
from gradone.report.panels import panels
from gradone.report.study import Study

from .small_studies import small_hierarchical_study, small_study

CHROMIUM = Path("/usr/bin/chromium")
MEGABYTES = 6e6

pytestmark = pytest.mark.stat


@pytest.fixture(scope="module")
def study():
    return small_study()


@pytest.fixture(scope="module")
def page(study):
    return study.to_html()


def body(text):
    """What a reader sees, without scripts and styles."""
    return re.sub(r"<(script|style)\b.*?</\1>", "", text, flags=re.DOTALL)


def test_all_parts_are_there(page):
    text = body(page)
    parts = (
        "<h1>", "What opens when", "Hermite energies", "Labels", "Test error", "Directions found",
        "One pass of SGD", "Samples seen again", "Giant gradient steps",
        "A kernel learns degree by degree", "Plan for d = 60", "References",
        "Make this report again", "gradone study", "--noise 0.1",
    )  # fmt: skip
    assert [part for part in parts if part not in text] == []
    assert len(page.encode()) < MEGABYTES


def test_tags_are_closed_in_order(page):
    class Reader(HTMLParser):
        open = ()

        def handle_starttag(self, tag, attrs):
            if tag not in ("meta", "link", "br"):
                self.open = (*self.open, tag)

        def handle_endtag(self, tag):
            assert self.open[-1] == tag, (self.open, tag, self.getpos())
            self.open = self.open[:-1]

        def handle_startendtag(self, tag, attrs):
            pass

    reader = Reader()
    reader.feed(body(page))
    assert reader.open == ()


def test_what_failed_or_is_missing_says_why_where_the_curve_would_be(page, study):
    text = body(page)
    assert 'class="failed"><b>giant gradient step, simulation</b>: failed: no &lt;i&gt;luck' in text
    assert "<b>message passing (AMP), simulation</b>: a point of it takes more than 20 s" in text
    assert "gradone study &#x27;tanh(2*z)&#x27; --noise 0.1 --d 60 --budget 240 --resume" in text
    assert "not finished" not in text
    row = '<td>message passing (AMP), theory</td><td class="number">2</td>'
    assert row in text  # how fine each curve is
    assert "three layers, theory</b>: it covers hierarchical targets" in text
    assert "the kernel &lt;b&gt;exploded" in text
    by_title = {panel.title: panel for panel in panels(study)}
    assert by_title["A kernel learns degree by degree"].chart is not None  # the theory is there


def test_a_report_has_no_empty_pictures():
    found = Study(gd.Target("z1*z2"), d=50, verdicts={"analysis": "too many <i>directions</i>"})
    found.outcomes = {"theory:bayes_amp": Outcome(failures={0: "it broke"})}
    text = body(found.to_html())
    assert "The analysis is missing: too many &lt;i&gt;directions" in text
    assert "<figure" not in text
    assert "<b>theory:bayes_amp</b>: it broke" in text


def test_the_report_tells_a_story(page):
    text = body(page)
    order = ["<h1>", "What opens when", "Who learns what with how many samples", "Training in time",
             "Without feature learning", "Plan for d", "References"]  # fmt: skip
    places = [text.index(f"<h2>{part}" if part != "<h1>" else part) for part in order]
    assert places == sorted(places)


def test_text_of_users_cannot_become_markup(study):
    """The parser refuses such expressions; the page must not rely on it."""

    class Hostile:
        text, latex, noise, r = (
            "<script>alert(1)</script>",
            r"\href{javascript:alert(1)}{x}",
            0.0,
            1,
        )

    given = {"facts": study.facts, "verdicts": study.verdicts, "outcomes": dict(study.outcomes)}
    found = Study(Hostile(), d=60, **given)
    found.outcomes["sgd run"] = Outcome(failures={0: "</script><script>alert(2)</script>"})
    text = found.to_html()
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    for numbers in re.findall(r'<script type="application/json">(.*?)</script>', text, re.DOTALL):
        assert "<" not in numbers
        assert set(json.loads(numbers)) == {"data", "layout"}


def test_points_and_lines_are_the_numbers_of_the_comparison(study):
    comparison = study.comparison
    chart = panels(study)[0].chart
    line = next(one for one in chart.series if one.name == "random features, theory")
    expected = comparison.test_mse.sel(source="theory:random_features")
    assert line.y == tuple(expected.values)
    points = next(one for one in chart.series if one.name.startswith("random features, simulation"))
    measured = comparison.test_mse.sel(source="simulation:random_features").dropna("alpha")
    assert (points.x, points.y) == (tuple(measured.alpha.values), tuple(measured.values))


def test_a_report_for_screens_leaves_still_pictures_out(study):
    late = page_of(study, stills=False)
    assert 'class="still"' not in late
    assert late.count("live-only") == study.to_html().count('class="still"') + late.count(
        "html.js .live-only"
    )


def test_the_limit_of_depth_shows_a_step_of_the_error():
    """The error of this target falls at n = d^4, not before."""
    study = Study(gd.zoo("sight-he2"), d=32)
    study.verdicts["analysis"] = gd.analyze(study.target)
    for one in depth_limit(study).chart.series:
        assert (one.x[-1], one.y[0]) == (5.0, pytest.approx(8.0))
        assert one.y[-1] == pytest.approx(0.0, abs=1e-9)


def test_hierarchical_targets_have_a_report_of_their_own():
    text = body(small_hierarchical_study().to_html())
    for part in ("The effect of depth", "Plateaus in the limit", "Assumptions of the theorem"):
        assert part in text
    assert "<td>the layers are re-initialized between the stages</td><td>they are</td>" in text
    assert "<b>message passing (AMP), simulation</b>: it must know the link" in text


@pytest.mark.skipif(not CHROMIUM.exists(), reason="needs Chromium")
def test_a_browser_draws_it_silently_and_asks_for_nothing(study, tmp_path):
    from playwright.sync_api import sync_playwright

    address = f"file://{study.save(tmp_path / 'report.html')}"
    said, asked = [], []
    with sync_playwright() as playwright:
        switches = "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-sync"
        switches += " --disable-background-networking --disable-component-update"
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=switches.split())
        for width in (1200, 390):
            page = browser.new_page(viewport={"width": width, "height": 800})
            page.on("console", lambda message: said.append(message.text))
            page.on("pageerror", lambda error: said.append(str(error)))
            page.on("request", lambda request: asked.append(request.url))
            page.goto(address)
            page.wait_for_selector("figure.chart:last-of-type .main-svg")
            figures = page.locator("figure.chart").count()
            assert figures == page.locator("figure.chart .plot.js-plotly-plot").count() == 8
            assert page.locator(".formula .katex").count() >= 1
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            for plot in page.locator(".plot").all():
                frame = plot.locator("xpath=ancestor::figure").bounding_box()
                assert plot.locator(".main-svg").first.bounding_box()["width"] <= frame["width"] + 1
        page.emulate_media(media="print")
        assert page.locator(".still").first.is_visible()
        assert not page.locator(".live").first.is_visible()
        browser.close()
    assert said == []
    assert [url for url in asked if not url.startswith("data:")] == [address] * 2
