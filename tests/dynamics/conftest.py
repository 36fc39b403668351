"""What the tests of the chains share."""

import types

import pytest


@pytest.fixture
def plain_python(monkeypatch):
    """Generated modules without compilation: for runs that are shorter than it would take."""
    import numba

    from gradone.dynamics import _compile

    def load(source):
        module = types.ModuleType("generated")
        exec(compile(source, "generated", "exec"), vars(module))  # noqa: S102
        return module

    monkeypatch.setattr(numba.config, "DISABLE_JIT", 1)
    monkeypatch.setattr(_compile, "load_module", load)
