"""The verb ``sgd``: its schema, its errors, what stops it, what it does not depend on."""

import math
import signal
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest

import gradone as gd
from gradone.base.curves import check_curve
from gradone.base.progress import TerminalBar
from gradone.dynamics import _run
from gradone.dynamics._auto import chosen_steps
from gradone.targets.training import read_training

# Targets and students of this file are those of others in this folder: they are compiled once.
ARGUMENTS = {"d": 60, "width": 2, "activation": "tanh(z + 0.3)", "steps": 300, "step_size": 1e-3,
             "replicates": 5}  # fmt: skip


def run(target="He2(z1) + z1*z2", **changes):
    return gd.dynamics.sgd(target, **ARGUMENTS | changes)


def test_schema():
    ds = run(train_readout=1e-3, train_bias=1e-3, record=20)
    check_curve(ds)
    assert ds.overlap.dims == ("replicate", "step", "neuron", "direction")
    assert ds.norm.dims == ("replicate", "step", "neuron", "neuron2")
    assert ds.recovery.dims == ("replicate", "step", "direction")
    assert ds.readout.dims == ds.bias.dims == ("replicate", "step", "neuron")
    assert float(abs(ds.overlap_err).max()) == 0.0
    assert ds.step.values[0] == 0
    assert ds.step.values[-1] == 300
    np.testing.assert_allclose(ds.time, ds.step / 60)
    np.testing.assert_allclose(ds.norm.sel(step=0).values.diagonal(axis1=1, axis2=2), 1.0)
    assert "readout" not in run(record=[1])


def test_recovery_is_the_projection_on_the_span():
    ds = run(record=[200])
    M, Q = ds.overlap.values[:, 0], ds.norm.values[:, 0]
    R2 = np.einsum("rjk,rjl,rlk->rk", M, np.linalg.inv(Q), M)
    np.testing.assert_allclose(ds.recovery.values[:, 0] ** 2, R2, rtol=1e-9)


def test_numbers_do_not_depend_on_threads_blocks_or_later_steps(monkeypatch):
    with monkeypatch.context() as alone:
        alone.setattr(_run, "available_cores", lambda: 1)
        reference = run(record=[100, 300])
    monkeypatch.setattr(_run, "available_cores", lambda: 3)
    assert reference.equals(run(record=[100, 300]))
    more = run(replicates=7, record=[100, 300])
    np.testing.assert_array_equal(more.overlap[:5], reference.overlap)
    longer = run(steps=400, record=[100, 300])
    np.testing.assert_array_equal(longer.norm, reference.norm)
    monkeypatch.setattr("gradone.dynamics._chain.NUMBERS", 64)
    np.testing.assert_array_equal(run(record=[100, 300]).overlap, reference.overlap)
    assert not np.array_equal(run(seed=1, record=[300]).overlap, reference.overlap[:, 1:])


def test_batches_do_not_depend_on_blocks(monkeypatch):
    batch = {"batch_size": 7, "steps": 30, "record": [10, 30], "step_size": 0.02}
    reference = run(**batch)
    monkeypatch.setattr("gradone.dynamics._chain.NUMBERS", 64)
    np.testing.assert_allclose(run(**batch).norm, reference.norm, rtol=1e-12)


def test_overlaps_are_those_of_real_weights():
    """Q - M M^T has no negative eigenvalue, whatever the step."""
    for size in (1, 5):
        ds = run(step_size=0.02, batch_size=size, record=50)
        M, Q = ds.overlap.values, ds.norm.values
        lowest = np.linalg.eigvalsh(Q - M @ M.swapaxes(-1, -2))[..., 0]
        assert (lowest > -1e-12 * np.trace(Q, axis1=-2, axis2=-1)).all()


def test_neurons_on_a_direction_stay_where_the_gradient_vanishes():
    """A student that is the target has no gradient: it does not move at all."""
    start = {"M": [[1.0]], "Q": [[1.0]]}
    text = "erf(z/1.4142135623730951)"
    ds = gd.dynamics.sgd(text, d=50, width=1, activation=text, steps=1000, step_size=0.01,
                         init=start, record=[1000], replicates=2)  # fmt: skip
    assert (ds.overlap == 1.0).all()
    assert (ds.norm == 1.0).all()
    assert (ds.recovery == 1.0).all()


# ---- what cannot be done


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 0}, "width must be an integer >= 1, got 0"),
        ({"d": 3}, r"d must be at least r \+ width = 2 \+ 2, got 3"),
        ({"step_size": math.nan}, "step_size must be a finite number > 0, got nan"),
        ({"step_size": -1.0}, "step_size must be a finite number > 0"),
        ({"batch_size": 0}, "batch_size"),
        ({"steps": 0}, "steps must be an integer >= 1"),
        ({"rule": "extra"}, "unknown rule 'extra'.*Did you mean 'extragradient'"),
        ({"rule": "sam"}, "the rule 'sam' needs inner_step_size"),
        ({"radius": 1.0}, "radius has no meaning for the rule 'plain'"),
        ({"loss": "hinge"}, "unknown loss"),
        ({"geometry": "flat"}, "unknown geometry"),
        ({"readout": [1.0]}, "readout needs 2 finite numbers"),
        ({"readout": [0.0, 0.0]}, "readout must not be 0 for every neuron"),
        ({"readout": [1.0, math.nan]}, "readout needs 2 finite numbers"),
        ({"bias": [0.0, 0.0, 1.0]}, "bias needs 2 finite numbers"),
        ({"init": "zeros"}, "unknown init 'zeros'"),
        ({"init": {"M": [[1.0, 0.0]]}}, "M must be finite numbers, 2 rows"),
        ({"init": {"M": [[1.0, 1.0], [0.0, 0.0]]}}, "no negative eigenvalue"),
        ({"init": {"M": [[0.1, math.nan], [0.0, 0.0]]}}, "M must be finite"),
        ({"record": [0, 301]}, "record must hold steps from 0 to 300"),
        ({"record": [0.5]}, "record must be a number of times or a sequence of steps"),
        ({"replicates": 0}, "replicates must be an integer >= 1"),
        ({"weight_decay": 2000.0}, r"step_size \* weight_decay must be below 1"),
    ],
)
def test_bad_input_is_refused(changes, message):
    with pytest.raises(gd.BadData, match=message):
        run(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"record": 10**13},
        {"replicates": 10**10},
        {"batch_size": 10**12, "rule": "k_steps"},
    ],
)
def test_what_does_not_fit_in_memory_is_refused_at_once(changes):
    with pytest.raises(gd.TooLarge, match="are available"):
        run(**changes)


def test_targets_without_a_fixed_number_of_directions_are_refused():
    with pytest.raises(gd.OutOfRegime, match="fixed number of directions, got a Sight"):
        gd.dynamics.sgd(gd.Sight("h", "He2(z)"), d=100, steps=10, step_size=0.01)


def test_divergence_says_when_and_what_would_be_stable(monkeypatch):
    with pytest.raises(gd.NotConverged, match="diverged at step") as caught:
        run("He2(z1) + z2", activation="relu(z)", step_size=1.0)
    last = caught.value.last
    check_curve(last)
    assert np.isfinite(last.overlap.isel(step=0)).all()
    assert np.isnan(last.overlap.isel(step=-1)).all()
    text = str(caught.value)
    stable = float(text.split("Use step_size = ")[1].split()[0])
    assert stable < 1.0
    smaller = run("He2(z1) + z2", activation="relu(z)", step_size=stable)
    assert np.isfinite(smaller.overlap).all()
    monkeypatch.setattr(_run, "available_cores", lambda: 1)
    with pytest.raises(gd.NotConverged) as again:
        run("He2(z1) + z2", activation="relu(z)", step_size=1.0)
    assert str(again.value) == text


class Watch:
    """Stops a run, or presses Ctrl-C, after the first look."""

    def __init__(self, error=None):
        self.error, self.closed = error, False

    def step(self, i, total, **scalars):
        if self.error is not None:
            raise self.error
        return True

    def close(self):
        self.closed = True


@pytest.mark.parametrize("watch", [Watch(), Watch(KeyboardInterrupt())])
def test_an_interrupted_run_returns_what_it_has(watch, monkeypatch):
    monkeypatch.setattr(_run, "_POLL", 0.02)
    monkeypatch.setattr(_run, "available_cores", lambda: 2)
    threads = threading.active_count()
    ds = run(steps=10**9, progress=watch, record=[0, 10, 10**9])
    assert watch.closed
    assert threading.active_count() == threads
    assert np.isfinite(ds.overlap.sel(step=10, replicate=0)).all()
    assert np.isnan(ds.overlap.sel(step=10**9)).all()
    assert "interrupted" in ds.attrs["notes"]


LONG_RUN = """
import signal
import numpy as np, gradone as gd
signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background ignore Ctrl-C

class Announce:
    def step(self, i, total):
        if i > 10:  # step 10 is recorded
            print("running", flush=True)
        return False
    def close(self):
        print("closed", flush=True)

run = gd.dynamics.{verb}, replicates=1, record=[0, 10, 10**9], progress=Announce())
print(np.isfinite(run.overlap.values).all((0, 2, 3)).tolist(), run.attrs["notes"])
"""


@pytest.mark.stat
@pytest.mark.parametrize(
    "verb",
    [
        'sgd("He2(z1) + z2", d=60, width=2, step_size=1e-3, steps=10**9',
        'reused_batch("z", n=60, d=60, width=1, step_size=0.1, steps=10**9',
    ],
)
def test_ctrl_c_returns_what_was_simulated(verb):
    """A real signal to a real process."""
    process = subprocess.Popen(  # noqa: S603
        [sys.executable, "-c", LONG_RUN.format(verb=verb)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert output.split("closed\n")[1].startswith("[True, True, False] The run was interrupted")


def test_a_long_run_at_a_terminal_has_a_bar(monkeypatch):
    titles = []
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    monkeypatch.setattr("gradone.base.progress._PATIENCE", 0.01)
    monkeypatch.setattr(TerminalBar, "_open", lambda bar, total: titles.append((bar.title, total)))
    monkeypatch.setattr(_run, "_POLL", 0.005)
    run(steps=10**5)
    assert set(titles) == {("sgd", 5 * 10**5)}
    titles.clear()
    run(steps=10**5, progress=False)
    assert not titles


# ---- automatic steps


def test_automatic_steps_learn():
    ds = gd.dynamics.sgd("He2(z1) + z2", d=200, width=2, replicates=5)
    assert "Chosen: step_size" in ds.attrs["notes"]
    assert float(ds.recovery.isel(step=-1, direction=1).median()) > 0.8


def test_automatic_steps_say_which_rule_could_learn():
    ds = gd.dynamics.sgd("He3(z)", d=100, width=1, steps=10, replicates=1)
    assert "The rule 'plain' with relu(z) cannot escape" in ds.attrs["notes"]
    assert "'extragradient'" in ds.attrs["notes"]
    ds = gd.dynamics.sgd("He3(z)", d=100, width=1, steps=10, replicates=1,
                         rule="extragradient")  # fmt: skip
    assert "inner_step_size" in ds.attrs["notes"]
    assert "cannot" not in ds.attrs["notes"]


def test_sam_climbs_where_the_theory_is_silent():
    """Would catch: an inner step without a size, or with the sign of the extra-gradient."""
    sam = read_training(width=1, rule="sam")
    student, _, notes = chosen_steps(gd.Target("z1*z2*z3*z4*z5"), sam, 500)
    assert "The theory of the escape does not apply: the target depends on 5 directions" in notes[1]
    assert -student.inner_eta == student.inner_step_size > 0
    assert replace(sam, step_size=0.1).inner_eta == -0.1


@pytest.mark.stat
def test_a_default_run_does_not_last_for_hours():
    _, steps, notes = chosen_steps(gd.Target("He4(z)"), read_training(width=2), 300)
    assert steps < 10**5
    assert "This run is too short to learn" in notes[-1]
    assert "rule 'extragradient' with inner_step_size" in notes[-2]
