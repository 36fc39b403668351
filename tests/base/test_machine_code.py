"""Machine code on disk: one process compiles, and a kill while it writes leaves no old code."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.stat

MODULE = """
from gradone.base.machine_code import njit

@njit("int64(int64)", cache=True)
def f(x):
    return x + {number}
"""
CALL = """
import os, sys
sys.path.insert(0, {folder!r})
{before}
import gradone_compiled_example as example
print(example.f(0), sum(example.f.stats.cache_misses.values()))
"""
KILLED = """
from gradone.base import machine_code
machine_code._WholeFiles._save_index = lambda *_: os._exit(3)
"""


def begin(folder, before=""):
    text = CALL.format(folder=str(folder), before=before)
    caches = {"GRADONE_CACHE": str(folder / "cache"), "NUMBA_CACHE_DIR": ""}
    return subprocess.Popen(
        [sys.executable, "-c", text],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **caches},
    )


def result(process):
    with process:
        return process.stdout.read().split(), process.wait(120)


def test_a_kill_between_the_two_writes_does_not_revive_old_code(tmp_path):
    file = tmp_path / "gradone_compiled_example.py"
    file.write_text(MODULE.format(number=1))
    assert result(begin(tmp_path)) == (["1", "1"], 0)
    assert result(begin(tmp_path)) == (["1", "0"], 0)  # from disk
    file.write_text(MODULE.format(number=22))
    assert result(begin(tmp_path, KILLED)) == ([], 3)
    assert result(begin(tmp_path)) == (["22", "1"], 0)
    assert result(begin(tmp_path)) == (["22", "0"], 0)
    assert len(list(tmp_path.rglob("*.nbc"))) == 1  # nothing is left of the others


def test_what_one_process_compiles_the_others_wait_for(tmp_path):
    (tmp_path / "gradone_compiled_example.py").write_text(MODULE.format(number=1))
    found = [result(one) for one in [begin(tmp_path) for _ in range(3)]]
    assert sorted(found) == [(["1", "0"], 0), (["1", "0"], 0), (["1", "1"], 0)]
    [line] = (tmp_path / "cache" / "compiling").read_text().splitlines()  # one has compiled
    assert line.split()[0] == "gradone_compiled_example.f"
    assert float(line.split()[2]) > 0
