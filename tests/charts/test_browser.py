"""Interactive charts in a real browser: drawn, silent, and without a request to anywhere."""

from pathlib import Path

import pytest

from .test_chart import every_kind

CHROMIUM = Path("/usr/bin/chromium")


@pytest.mark.slow
@pytest.mark.skipif(not CHROMIUM.exists(), reason="needs Chromium")
def test_a_page_is_drawn_without_a_network(tmp_path):
    sync_api = pytest.importorskip("playwright.sync_api")
    every_kind().save(tmp_path / "chart.html")
    address = f"file://{tmp_path}/chart.html"
    said, asked = [], []
    with sync_api.sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=arguments)
        page = browser.new_page()
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        page.on("request", lambda request: asked.append(request.url))
        page.goto(address)
        page.wait_for_selector(".gradone-chart .main-svg")
        axes = page.locator(".gradone-chart .cartesianlayer .subplot").count()
        points = page.locator(".gradone-chart .scatterlayer .point").count()
        browser.close()
    assert said == []
    assert asked == [address]
    assert axes == 4
    assert points == 2  # one of the three is a gap
