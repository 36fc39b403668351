"""Ten thousand broken inputs: each is an expression or a GradoneError, and quickly."""

import json
import re
import subprocess
import sys
import textwrap
import time
import tracemalloc
import warnings
from functools import partial

import numpy as np
import pytest

import gradone as gd
from gradone.base.errors import GradoneError
from gradone.targets.language.abbreviations import ABBREVIATIONS
from gradone.targets.language.expression import Expression
from gradone.targets.language.functions import FUNCTIONS

from ...reference_work import reference_time
from .grammar import chooser, grow, sample
from .test_parser import HOSTILE

SECONDS, TARGET_SECONDS = 0.05, 0.5
TOKENS = [
    *FUNCTIONS, *ABBREVIATIONS, *"+-*/^(),()()", "**", "z", "pi", "0", "1", "2.5", "1e6", "1e-30",
    ".5", "12", " ",
    *(f"z{i}" for i in range(12)), "__class__", "lambda", ".", "e", "_", "=", "[", "]", ":", "\n",
]  # fmt: skip


def random_bytes(rng):
    raw = rng.bytes(int(rng.integers(1, 200)))
    return raw.decode("latin-1") if rng.random() < 0.5 else raw.decode("utf-8", "surrogateescape")


def mutation(rng):
    """A valid text with a few characters deleted, doubled, replaced or moved."""
    text = list(sample(rng))
    for _ in range(int(rng.integers(1, 5))):
        i, j = (int(k) for k in rng.integers(len(text) + 1, size=2))
        match int(rng.integers(4)):
            case 0:
                del text[min(i, j) : max(i, j) if rng.random() < 0.2 else min(i, j) + 1]
            case 1:
                text[i:i] = text[min(i, j) : max(i, j)]
            case 2:
                text[i:i] = list(str(rng.choice(TOKENS)))
            case 3:
                text[i : i + 1] = chr(int(rng.integers(1, 0x3000)))
        text = text or ["z"]
    return "".join(text)


def deep(rng):
    """Functions, brackets and fractions inside each other."""
    opening = [f"{name}(" for name in (*FUNCTIONS, "elu", "hardtanh", "silu")] + [
        "(",
        "-(",
        "1/(2+",
        "2*(",
        "1-(",
        "sqrt(1+",
    ]
    depth = int(rng.choice([3, 8, 15, 24, 26, 60, 400]))
    kinds = rng.choice(opening, size=1 if rng.random() < 0.5 else 4)
    opened = [str(rng.choice(kinds)) for _ in range(depth)]
    closed = [
        f", z{rng.integers(1, 4)})" if name[:3] in ("min", "max") else ")"
        for name in reversed(opened)
    ]
    inside = str(rng.choice(["z1", "z1*z2", "z1**12", "z3/9", "tanh(z1)", ""]))
    return "".join(opened) + inside + "".join(closed[: depth - int(rng.integers(2))])


def tokens(rng):
    return "".join(str(t) for t in rng.choice(TOKENS, size=int(rng.integers(1, 60))))


def wide(rng):
    """Long sums and products of small parts, up to and beyond every limit."""
    parts = [
        "exp(z{i}*z{j}/{n})", "1/(z{i}**2 - z{j} + {n})", "sqrt({n} + sin(z{i}))", "z{i}**{k}",
        "He{k}(z{j} + {n})", "log(3 + cos({n}*z{i}))", "0.{n:025d}*z{i}", "{n}/7*z{i}", "erf(z{j})",
        "max(z{i}, z{j}/{n})", "exp(-exp(z{i}))", "tanh({n}*z{i} - z{j})", "exp(z{i}*sin(z{j}))",
    ]  # fmt: skip
    chosen = rng.choice(parts, size=int(rng.integers(1, 4)))
    operators = str(rng.choice(["+", "-", "*", "/", "+-*"]))
    text = ""
    for n in range(1, int(rng.choice([2, 5, 20, 60, 150]))):
        i, j, k = (int(x) for x in rng.integers(1, 10, size=3))
        text += str(rng.choice(list(operators))) if text else ""
        text += str(rng.choice(chosen)).format(n=n, i=i, j=j, k=k)
    return text if rng.random() < 0.97 else text * 1000


def nested(rng):
    """Whole targets, deeper than in other tests, with large constants and latent noise inside."""
    choose = chooser(rng)
    constant = grow(lambda options: choose([o for o in options if str(o)[:1] != "z"] or ["9"]), 5)
    towers = ["exp(" * k + "1" + ")" * k for k in range(1, 8)]
    leaves = [constant, *towers, "1e300", "1e-300", "9**9**9", "0", "xi", "xi2", "1e400"]
    text = grow(choose, choose(range(2, 7)), choose(range(1, 5)))
    for _ in range(int(rng.integers(4))):
        places = [i for i, letter in enumerate(text) if letter in "z123"]
        if places:
            i = choose(places)
            text = f"{text[:i]}({choose(leaves)}){text[i + 1 :]}"
    return re.sub(r"\)(\d)", r")*\1", text)


def seconds_to_read(text, kind=Expression):
    """CPU time of this thread; any exception but ours goes through."""
    start = time.thread_time()
    try:
        kind(text)
    except GradoneError:
        pass
    return time.thread_time() - start


@pytest.fixture(scope="module", autouse=True)
def _warm():
    """What is imported and tabulated at the first use is not the cost of reading a text."""
    for r in range(1, 10):
        seconds_to_read("+".join(f"erf(z{i})/(2 + z{i} - z{i}**3)" for i in range(1, r + 1)))
        seconds_to_read("+".join(f"exp(z{i}*z1/9)" for i in range(1, r + 1)))


@pytest.mark.parametrize(
    ("make", "count"),
    [(random_bytes, 2800), (mutation, 3300), (tokens, 3100), (deep, 600), (wide, 200)],
)
def test_fuzzed_text_is_read_or_refused_within_50_ms(make, count, rng):
    """Would catch: exponential work, a crash on legal tokens, a warning that escapes."""
    slowest, culprit = 0.0, ""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(count):
            text = make(rng)
            spent = seconds_to_read(text)
            if spent > SECONDS:  # a busy machine: what is slow is slow every time
                spent = reference_time(partial(seconds_to_read, text))
            slowest, culprit = max((slowest, culprit), (spent, text))
    assert slowest < SECONDS, f"{slowest * 1e3:.0f} ms for {culprit[:2000]!r}"


@pytest.mark.parametrize(
    "count", [300, pytest.param(20_000, marks=pytest.mark.slow)], ids=["few", "many"]
)
def test_fuzzed_targets_are_admitted_or_refused(count, rng):
    """A target takes at most half a second. Failed before: "exp(exp(exp(exp(exp(1)))))*z1"."""
    slowest, culprit = 0.0, ""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for text in ["exp(exp(exp(exp(exp(1)))))*z1", *(nested(rng) for _ in range(count))]:
            spent = seconds_to_read(text, gd.Target)
            if spent > TARGET_SECONDS:
                spent = reference_time(partial(seconds_to_read, text, gd.Target))
            slowest, culprit = max((slowest, culprit), (spent, text))
    assert slowest < TARGET_SECONDS, f"{slowest * 1e3:.0f} ms for {culprit[:2000]!r}"


def test_a_megabyte_is_refused_at_once():
    """Would catch: work before the length is checked."""
    for text in ("z1+" * 350_000, "(" * 1_000_000, "9" * 1_000_000, "\x00" * 1_000_000):
        assert seconds_to_read(text) < 0.01


def test_reading_text_runs_no_code():
    """Would catch: eval, exec, compile, import or open on the way from text to tree."""
    script = """
        import json, sys
        from gradone.base.errors import GradoneError
        from gradone.targets.language.expression import Expression

        seen, watched = [], ("exec", "compile", "import", "open", "os", "subprocess", "socket",
                             "ctypes", "marshal", "pickle", "code", "builtins", "shutil")
        texts = json.loads(sys.stdin.read())
        Expression("erf(z1)/(2 + sin(z2))")
        sys.addaudithook(lambda e, _: seen.append(e) if e.split(".")[0] in watched else None)
        for text in texts:
            try:
                Expression(text)
            except GradoneError:
                pass
        print(len(texts), seen[:20])
    """
    texts = [text for text in HOSTILE if len(text) < 3000]
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        input=json.dumps(texts),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout == f"{len(texts)} []\n"


def test_memory_stays_bounded():
    """Would catch: 9**9**9**9 computed before it is refused, caches that grow with every text."""
    rng = np.random.default_rng(5)
    texts = [wide(rng) for _ in range(60)] + ["9**9**9**9", "(((z1**12)**12)**12)", "9" * 10**6]
    tracemalloc.start()
    try:
        for text in texts:
            seconds_to_read(text)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 64e6
