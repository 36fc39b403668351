"""Fixtures that every room uses."""

import hashlib
import importlib

import numpy as np
import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Tests that share a fixture of their module run in one process, which makes it once."""
    for item in items:
        fixtures = getattr(getattr(item, "_fixtureinfo", None), "name2fixturedefs", {})
        if any(fixture[-1].scope == "module" for fixture in fixtures.values()):
            item.add_marker(pytest.mark.xdist_group(item.nodeid.split("::")[0]))


@pytest.fixture
def rng(request):
    """Generator seeded by the test's own name: reproducible, whatever runs before it."""
    digest = hashlib.blake2b(request.node.nodeid.encode(), digest_size=8).digest()
    return np.random.default_rng(int.from_bytes(digest, "little"))


@pytest.fixture(params=["numpy", "array_api_strict", "torch"])
def xp(request):
    """Array namespace; torch is tried where it is installed."""
    module = pytest.importorskip(request.param)
    if request.param == "torch":
        return importlib.import_module("array_api_compat.torch")
    return module
