"""Fixtures that every room uses."""

import gc
import hashlib
import importlib
from functools import cache
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]


@cache
def has_shared_fixtures(path):
    return 'scope="module"' in (ROOT / path).read_text(encoding="utf-8")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Files whose tests share a fixture run in one process, which makes it once."""
    from xdist.scheduler import LoadScopeScheduling

    class BySharedFixtures(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            path = nodeid.split("::")[0]
            return path if has_shared_fixtures(path) else nodeid

    return BySharedFixtures(config, log)


def pytest_collection_finish():
    """What was collected stays: searches for garbage need not look through it again and again."""
    gc.freeze()


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
