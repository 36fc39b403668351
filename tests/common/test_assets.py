"""Third-party files kept in the package: unchanged, complete, and in need of nothing else."""

import hashlib
import json
import re
from importlib.resources import files

import pytest

ASSETS = files("gradone") / "charts" / "assets"
MANIFEST = json.loads((ASSETS / "MANIFEST.json").read_text())
STYLE = (ASSETS / "katex" / "katex.min.css").read_text()


@pytest.mark.parametrize("library", MANIFEST)
def test_files_are_those_of_the_manifest(library):
    found = {
        str(path.relative_to(ASSETS)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in (ASSETS / library).rglob("*")
        if path.is_file()
    }
    assert found == MANIFEST[library]["sha256"]


def test_style_loads_only_fonts_that_are_kept():
    fonts = re.findall(r"url\(['\"]?([^)'\"]+)", STYLE)
    assert len(fonts) >= 15
    assert [font for font in fonts if f"katex/{font}" not in MANIFEST["katex"]["sha256"]] == []


def test_style_asks_nothing_of_the_network():
    assert re.findall(r"(?:https?:)?//[\w.]+|@import", STYLE) == []


@pytest.mark.parametrize("script", ["katex.min.js", "auto-render.min.js"])
def test_scripts_name_no_address(script):
    """Addresses at w3.org are names of XML dialects: nothing loads them."""
    text = (ASSETS / "katex" / script).read_text(encoding="utf-8")
    addresses = set(re.findall(r"https?://[\w.]+", text))
    assert addresses <= {"http://www.w3.org"}


@pytest.mark.parametrize("library", MANIFEST)
def test_licence_is_kept(library):
    assert "MIT" in (ASSETS / library / "LICENSE").read_text()
