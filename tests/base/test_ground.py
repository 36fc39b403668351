"""Registries, errors, memory, arrays, cache folder."""

import pickle
import sys

import numpy as np
import pytest

from gradone.base import memory
from gradone.base.arrays import apply_elementwise, array_namespace, as_floats, to_numpy
from gradone.base.cache import cache_directory
from gradone.base.errors import BadData, GradoneError, TargetSyntaxError, TooLarge
from gradone.base.registry import Registry


def test_a_registry_suggests_the_name_that_was_meant():
    learners = Registry("learner")
    learners.add("giant_step")(type("GiantStep", (), {}))
    assert learners["giant_step"].name == "giant_step"
    with pytest.raises(BadData, match="Did you mean 'giant_step'"):
        learners["gaint_step"]


def test_a_name_is_registered_once():
    learners = Registry("learner")
    learners.add("sgd")(type("OneSGD", (), {}))
    with pytest.raises(ValueError, match="already a learner named 'sgd'"):
        learners.add("sgd")(type("OtherSGD", (), {}))


def test_one_look_up_loads_one_file(tmp_path, monkeypatch):
    room = tmp_path / "some_room"
    (room / "family").mkdir(parents=True)
    (room / "__init__.py").write_text(
        "from gradone.base.registry import Registry\nTHINGS = Registry('thing', 'some_room')\n"
    )
    (room / "one.py").write_text("from some_room import THINGS\nTHINGS.add('one')(1)\n")
    (room / "_private.py").write_text("raise RuntimeError\n")
    (room / "family" / "__init__.py").write_text("")
    (room / "family" / "two_b.py").write_text(
        "from some_room import THINGS\nTHINGS.add('two-b')(2)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    from some_room import THINGS

    assert THINGS["two-b"] == 2
    assert "some_room.family.two_b" in sys.modules
    assert "some_room.one" not in sys.modules
    assert list(THINGS) == ["one", "two-b"]
    assert "one" in THINGS
    assert len(THINGS) == 2


def test_errors_survive_a_process_boundary():
    error = TargetSyntaxError("unknown name 'x'", "x + 1", column=1, hint="Variables are z1.")
    copy = pickle.loads(pickle.dumps(error))
    assert str(copy) == str(error)
    assert (copy.column, copy.problem) == (1, "unknown name 'x'")
    assert isinstance(error, GradoneError)
    assert isinstance(error, ValueError)


def test_a_long_text_is_shown_through_a_window():
    error = TargetSyntaxError("bad", "a" * 500 + "!" + "b" * 500, column=501)
    lines = str(error).splitlines()
    assert max(map(len, lines)) < 100
    assert lines[1][lines[2].index("^")] == "!"


def test_what_does_not_fit_is_refused_before_it_is_allocated():
    free = memory.available_memory()
    memory.require_memory(free // 100, "a small thing", "")
    with pytest.raises(TooLarge, match=r"X needs .* are available\. Use a smaller n"):
        memory.require_memory(2 * free, "X", "Use a smaller n.")
    with pytest.raises(MemoryError):
        memory.require_memory(10**18, "X", "")


def test_sizes_in_words():
    assert [memory.human_bytes(x) for x in (999, 2e3, 3.25e9)] == ["999 B", "2.0 kB", "3.2 GB"]


def test_arrays_of_any_library(xp):
    x = xp.asarray([1.0, 4.0])
    namespace, y = as_floats(x)
    assert float(namespace.sum(y)) == 5.0
    rooted = apply_elementwise(np.sqrt, x)
    assert type(rooted) is type(x)
    np.testing.assert_array_equal(to_numpy(rooted), [1.0, 2.0])


def test_lists_and_integers_become_floats():
    assert array_namespace([1, 2]) is np
    assert as_floats([1, 2])[1].dtype == np.float64
    assert as_floats(np.float32([1]))[1].dtype == np.float32


def test_the_cache_folder_can_be_chosen(monkeypatch, tmp_path):
    monkeypatch.setenv("GRADONE_CACHE", str(tmp_path))
    assert cache_directory() == tmp_path
