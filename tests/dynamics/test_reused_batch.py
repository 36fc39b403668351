"""Gradient descent on a fixed data set: the law of the engine is that of the network itself."""

import numpy as np
import pytest
from scipy.stats import ks_2samp

import gradone as gd
from gradone.dynamics import reused_batch
from gradone.dynamics._reveal import RevealedSamples

TEXT, NOISE = "tanh(z1 + He3(z2))", 0.25
START = {"M": [[0.3, -0.2], [0.1, 0.5]], "Q": [[1.2, 0.1], [0.1, 0.8]]}
READOUT, BIAS = np.array([0.8, -0.6]), np.array([0.1, -0.2])
WIDTH = 2


def label(z):
    return np.tanh(z[..., 0] + z[..., 1] ** 3 - 3 * z[..., 1])


def network_runs(
    *, n, d, steps, runs, eta, seed, batch=None, decay=0.0, inner=None, spherical=False, train=0.0,
    momentum=0.0, nesterov=False,
):  # fmt: skip
    """Direct simulations on drawn data, all at once: overlaps, norms, errors at half time, end."""
    rng = np.random.default_rng(seed)
    M, Q = np.array(START["M"]), np.array(START["Q"])
    W = np.zeros((runs, WIDTH, d))
    W[:, :, :2], W[:, :, 2:4] = M, np.linalg.cholesky(Q - M @ M.T)
    X = rng.standard_normal((runs, n, d))
    y = label(X[..., :2]) + np.sqrt(NOISE) * rng.standard_normal((runs, n))
    a, b = np.tile(READOUT, (runs, 1)), np.tile(BIAS, (runs, 1))
    order, V = np.empty((runs, 0), dtype=int), np.zeros_like(W)

    def outputs(W, x):
        field = x @ W.swapaxes(1, 2) + b[:, None]
        return np.maximum(field, 0), field > 0

    def gradient(W, x, labels):
        value, active = outputs(W, x)
        e = labels - np.einsum("knj,kj->kn", value, a)
        push = a[:, None] * e[..., None] * active
        return push.swapaxes(1, 2) @ x / len(labels[0]), e, value, push

    readings = []
    for step in range(steps + 1):
        if step in (steps // 2, steps):
            e = y - np.einsum("knj,kj->kn", outputs(W, X)[0], a)
            norms = (W @ W.swapaxes(1, 2))[:, *np.triu_indices(WIDTH)]
            readings += [W[:, :, :2].reshape(runs, -1), norms, (e**2).mean(1)[:, None], a]
        if step == steps:
            break
        x, labels = X, y
        if batch:
            if not order.shape[1]:
                order = np.argsort(rng.random((runs, n)), axis=1)
            rows, order = order[:, :batch], order[:, batch:]
            x, labels = np.take_along_axis(X, rows[..., None], 1), np.take_along_axis(y, rows, 1)
        ahead = eta * momentum * V if nesterov == "look_ahead" else 0.0
        G, e, value, push = gradient(W + ahead, x, labels)
        if inner:
            G, e, value, push = gradient(W + inner * G, x, labels)
        if spherical:
            G -= (G * W).sum(2, keepdims=True) / (W**2).sum(2, keepdims=True) * W
        V = momentum * V + G
        W = (1 - eta * decay) * W + eta * (G + momentum * V if nesterov is True else V)
        if spherical:
            W /= np.linalg.norm(W, axis=2, keepdims=True)
        a = a + train * np.einsum("kn,knj->kj", e, value) / x.shape[1]
        b = b + train * push.mean(1)
    return np.concatenate(readings, axis=1)


def engine_runs(*, n, d, steps, runs, eta, seed, batch=None, decay=0.0, train=0.0, **more):
    found = reused_batch(
        gd.Target(TEXT, noise=NOISE), n=n, d=d, width=WIDTH, steps=steps, step_size=eta,
        batch_size=batch, readout=READOUT, bias=BIAS, weight_decay=decay, init=START,
        train_readout=train or None, train_bias=train or None, record=[steps // 2, steps],
        replicates=runs, seed=seed, test_samples=2, progress=False, **more,
    )  # fmt: skip
    readings = []
    for at in (steps // 2, steps):
        now = found.sel(step=at)
        norms = now.norm.values[:, *np.triu_indices(WIDTH)]
        readout = now.readout.values if train else np.tile(READOUT, (runs, 1))
        readings += [now.overlap.values.reshape(runs, -1), norms, now.train_mse.values[:, None]]
        readings += [readout]
    return np.concatenate(readings, axis=1)


# Sizes with 4 + 2 steps > d reach all directions, those with 2 steps > n all samples.
CASES = {
    "plain": dict(n=60, d=40, steps=4, eta=0.6),
    "decay": dict(n=60, d=40, steps=4, eta=0.6, decay=0.5),
    "all directions reached": dict(n=60, d=12, steps=10, eta=0.8),
    "last direction in mid-step": dict(n=20, d=7, steps=4, eta=0.8),
    "all samples reached": dict(n=5, d=40, steps=8, eta=0.3),
    "no direction to reach": dict(n=20, d=4, steps=4, eta=0.6),
    "mini-batches, all reached": dict(n=12, d=14, steps=12, eta=0.3, batch=5),
    "mini-batches": dict(n=40, d=60, steps=8, eta=0.3, batch=10),
    "one sample at a time": dict(n=6, d=20, steps=15, eta=0.05, batch=1),
    "trained": dict(n=30, d=25, steps=6, eta=0.5, train=0.3),
    "extragradient": dict(n=30, d=25, steps=4, eta=0.5, inner=0.7),
    "spherical": dict(n=30, d=25, steps=4, eta=0.5, spherical=True),
    "momentum": dict(n=30, d=25, steps=6, eta=0.3, momentum=0.8, decay=0.3),
    "momentum, all directions reached": dict(n=30, d=9, steps=8, eta=0.2, momentum=0.7),
    "nesterov, mini-batches": dict(
        n=20, d=30, steps=8, eta=0.1, batch=6, momentum=0.8, nesterov=True
    ),
    "look ahead, mini-batches": dict(
        n=20, d=30, steps=8, eta=0.1, batch=6, momentum=0.8, nesterov="look_ahead"
    ),
}


def smallest_p_value(name, *, runs=1000, seed=1):
    """Kolmogorov-Smirnov tests of all entries; the smallest p-value, times their number."""
    case = CASES[name]
    renamed = {k: v for k, v in case.items() if k not in ("inner", "spherical")}
    if "inner" in case:
        renamed |= {"rule": "extragradient", "inner_step_size": case["inner"]}
    if "spherical" in case:
        renamed |= {"geometry": "spherical"}
    # A neuron that is never active keeps its norm: an atom, which rounding must not split.
    direct = network_runs(**case, runs=runs, seed=seed).round(9)
    engine = engine_runs(**renamed, runs=runs, seed=seed + 1).round(9)
    moving = direct.std(axis=0) > 1e-8
    assert (moving == (engine.std(axis=0) > 1e-8)).all()
    pairs = zip(direct.T[moving], engine.T[moving], strict=True)
    p_values = [ks_2samp(*pair).pvalue for pair in pairs]
    return min(p_values) * len(p_values)


DAILY = ("all directions reached", "mini-batches, all reached", "momentum")


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.stat if n in DAILY else pytest.mark.slow) for n in CASES],
)
def test_law_is_that_of_the_network(name):
    """Two equal laws are refused with a probability of 1e-6 at most."""
    assert smallest_p_value(name) > 1e-6


@pytest.mark.stat
def test_a_wrong_law_of_what_is_hidden_is_found(monkeypatch):
    """The test above has power: it finds lengths with d instead of d - m degrees of freedom."""
    right = RevealedSamples._append

    def wrong(self, f):
        known, self.d = self.d, self.d + self._m
        right(self, f)
        self.d = known

    monkeypatch.setattr(RevealedSamples, "_append", wrong)
    assert smallest_p_value("all directions reached") < 1e-12


# ---- what the note measured, and the limit of high dimension

MIRROR = dict(width=2, readout=[0.5**0.5, -(0.5**0.5)], step_size=0.6, steps=6, init="orthogonal")


@pytest.mark.slow
def test_large_run_agrees_with_the_reference():
    """Target tanh(z1 + He3(z2)), alpha = 3: averages over mirror neurons, note of d = 1e5."""
    run = reused_batch(TEXT, d=20_000, alpha=3.0, replicates=16, progress=False, **MIRROR)
    M = run.overlap.values
    mean = (M[:, 1:, 0] - M[:, 1:, 1]) / 2
    expected = np.array(
        [
            [0.0759, -0.0632], [0.1241, -0.1029], [0.1565, -0.1289], [0.1804, -0.1475],
            [0.1992, -0.1620], [0.2149, -0.1739],
        ]
    )  # fmt: skip
    error = mean.std(axis=0, ddof=1) / 4
    assert error.max() < 0.0025  # one run at d = 5000 fluctuates by about 0.02
    # 7.9 standard errors: t-quantile of 1e-6 for 16 runs; 2e-4 is the reference's own error.
    assert (abs(mean.mean(axis=0) - expected) < 7.9 * np.hypot(error, 2e-4)).all()
    norms = run.norm.values[:, -1].mean(axis=0)
    assert norms == pytest.approx(np.array([[0.8132, 0.1414], [0.1414, 0.8132]]), abs=0.006)


@pytest.mark.slow
def test_table_of_the_reference():
    """Engine at d = 1e5, 40 runs: overlaps and norms of the note to 0.0008."""
    run = reused_batch(TEXT, d=100_000, alpha=3.0, replicates=40, progress=False, **MIRROR)
    M, Q = run.overlap.values.mean(axis=0), run.norm.values.mean(axis=0)
    mean = (M[1:, 0] - M[1:, 1]) / 2
    first = [0.0759, 0.1241, 0.1565, 0.1804, 0.1992, 0.2149]
    second = [-0.0632, -0.1029, -0.1289, -0.1475, -0.1620, -0.1739]
    assert mean == pytest.approx(np.column_stack([first, second]), abs=0.0008)
    diagonal = [0.8535, 0.8039, 0.7899, 0.7913, 0.8002, 0.8132]
    assert Q[1:, [0, 1], [0, 1]].mean(axis=1) == pytest.approx(diagonal, abs=0.0008)
    assert Q[1:, 0, 1] == pytest.approx([0.1099, 0.1489, 0.1597, 0.1581, 0.1510, 0.1414], abs=8e-4)


# One neuron, alpha = 3: overlaps with their standard errors, norms and their tolerance.
SINGLE = {
    ("tanh(z)", 0.2): ([0.0605, 0.1099, 0.1502, 0.1832], [3e-4] * 4,
                       [0.8227, 0.7065, 0.6274, 0.5715], 0.001),
    ("tanh(z)", 0.3): ([0.0908, 0.1562, 0.2041, 0.2402], [3e-4] * 4,
                       [0.7521, 0.6223, 0.5470, 0.4992], 0.001),
    ("He3(z)", 0.2): ([0.0, -0.0178, -0.0339, -0.0464], [8e-4, 7e-4, 1e-3, 1.3e-3],
                      [0.857, 0.799, 0.791, 0.813], 0.01),
    ("He3(z)", 0.3): ([0.0, -0.0263, -0.0433, -0.0550], [8e-4, 8e-4, 1e-3, 1.2e-3],
                      [0.829, 0.807, 0.856, 0.940], 0.01),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("text", "step_size"), SINGLE)
def test_reuse_for_one_neuron(text, step_size):
    """tanh is found at the first step; He3 is not, and is at the second."""
    run = reused_batch(
        text, d=60_000, alpha=3.0, width=1, step_size=step_size, steps=4, init="orthogonal",
        replicates=16, record=[1, 2, 3, 4], progress=False,
    )  # fmt: skip
    M, Q = run.overlap.values[:, :, 0, 0], run.norm.values[:, :, 0, 0]
    overlaps, errors, norms, tolerance = SINGLE[text, step_size]
    error = np.hypot(M.std(axis=0, ddof=1) / 4, errors)
    assert (abs(M.mean(axis=0) - overlaps) < 7.9 * error).all()
    if text == "He3(z)":
        assert M.mean(axis=0)[1] < -7.9 * error[1]
    spread = 7.9 * Q.std(axis=0, ddof=1) / 4
    assert (abs(Q.mean(axis=0) - norms) < tolerance + spread).all()


@pytest.mark.slow
def test_half_a_million_dimensions_in_single_precision():
    run = reused_batch(
        TEXT, d=500_000, alpha=3.0, replicates=1, record=[6], dtype="float32", progress=False,
        **MIRROR,
    )  # fmt: skip
    expected = np.array([[0.2146, -0.1743], [-0.2144, 0.1743]])
    assert run.overlap.values[0, 0] == pytest.approx(expected, abs=0.003)
    norms = np.array([[0.8117, 0.1417], [0.1417, 0.8127]])
    assert run.norm.values[0, 0] == pytest.approx(norms, abs=0.003)


@pytest.mark.stat
def test_reuse_finds_he3_at_the_second_step():
    """One step has no overlap, two have: relu, alpha = 3, step 0.3: 0, -0.0263(8), -0.0433(10)."""
    run = reused_batch(
        "He3(z)", d=20_000, alpha=3.0, width=1, step_size=0.3, steps=3, init="orthogonal",
        replicates=16, progress=False,
    )  # fmt: skip
    M = run.overlap.values[:, :, 0, 0]
    error = np.hypot(M.std(axis=0, ddof=1) / 4, [0, 0, 8e-4, 1e-3])
    assert (abs(M.mean(axis=0) - [0, 0, -0.0263, -0.0433]) <= 7.9 * error).all()
    assert M.mean(axis=0)[2] < -7.9 * error[2]


def test_single_precision_gives_the_same_means():
    """The draws of the two precisions differ: the means agree within their errors."""
    both = [
        reused_batch("tanh(z)", d=3000, alpha=2.0, width=1, step_size=0.3, steps=4, dtype=dtype,
                     init="orthogonal", replicates=16, seed=seed, progress=False)
        for dtype, seed in (("float32", 3), ("float64", 4))
    ]  # fmt: skip
    M = np.array([run.overlap.values[:, -1, 0, 0] for run in both])
    error = np.hypot(*M.std(axis=1, ddof=1)) / 4
    assert error < 0.01
    assert abs(np.subtract(*M.mean(axis=1))) < 7.9 * error


# ---- what the curve holds


def test_errors_on_samples_agree_with_order_parameters():
    """Linear student, linear target: the test error is (1 - M)^2 + Q - M^2 + noise."""
    run = reused_batch(
        gd.Target("z", noise=0.3), d=200, n=400, width=1, activation="z", steps=6, step_size=0.5,
        replicates=3, test_samples=20_000, progress=False,
    )  # fmt: skip
    M, Q = run.overlap.values[..., 0, 0], run.norm.values[..., 0, 0]
    gap = abs(run.test_mse.values - (1 - 2 * M + Q + 0.3))
    assert (gap < 6 * run.test_mse_err.values).all()
    # Squares of Gaussian errors have the relative deviation sqrt(2).
    expected = (run.test_mse.values - 0.3) * np.sqrt(2 / 20_000)
    assert run.test_mse_err.values == pytest.approx(expected, rel=0.1)
    assert (np.diff(run.train_mse.values, axis=1) < 0).all()  # gradient descent, a small step


def test_all_samples_are_learned_by_heart():
    """n < d: a linear student reaches the training error 0, long after all samples are reached."""
    run = reused_batch(
        gd.Target("z", noise=0.3), d=40, n=8, width=1, activation="z", step_size=0.1, steps=300,
        replicates=2, progress=False,
    )  # fmt: skip
    assert (run.train_mse.values[:, -1] < 1e-9).all()
    assert (run.test_mse.values[:, -1] > 0.3).all()


def test_recording_does_not_change_a_run_and_replicates_are_addressed():
    few = reused_batch("z1*z2", d=50, n=80, step_size=0.4, steps=5, record=[5], replicates=2)
    many = reused_batch("z1*z2", d=50, n=80, step_size=0.4, steps=5, replicates=3)
    assert (few.norm.values[:, 0] == many.norm.values[:2, -1]).all()
    assert not (many.norm.values[0] == many.norm.values[1]).all()


def test_divergence_says_when_and_which_step_is_stable():
    with pytest.raises(gd.NotConverged, match=r"diverged at step \d+.*Use step_size = ") as caught:
        reused_batch("z", d=30, n=60, width=1, activation="z", step_size=20.0, steps=30)
    kept = caught.value.last
    assert np.isfinite(kept.norm.values[0, 0]).all()
    assert np.isnan(kept.norm.values[0, -1]).all()
    stable = float(str(caught.value).split("Use step_size = ")[1].split()[0])
    reused_batch("z", d=30, n=60, width=1, activation="z", step_size=stable, steps=30)


# ---- automatic steps


@pytest.mark.parametrize(
    "changes", [{}, {"rule": "sam"}, {"rule": "extragradient"}, {"loss": "correlation"}], ids=str
)
def test_automatic_steps_learn(changes):
    run = reused_batch(
        "tanh(z)", **dict(d=400, alpha=3.0, width=2, steps=6, replicates=4) | changes
    )
    assert "Chosen: step_size" in run.attrs["notes"]
    assert float(run.recovery.isel(step=-1).median()) > 0.3


@pytest.mark.parametrize(
    "changes",
    [pytest.param({"rule": "sam_normalized"}, marks=pytest.mark.slow), {"rule": "k_steps"},
     {"batch_size": 20}, {"alpha": 0.2}, {"width": 8}],
    ids=str,
)  # fmt: skip
def test_automatic_steps_do_not_run_away(changes):
    """Heavy labels and many passes."""
    run = reused_batch("He3(z)", **dict(d=60, alpha=3.0, steps=30, replicates=2) | changes)
    assert float(run.norm.max()) < 100


def test_automatic_steps_say_what_cannot_be_learned():
    fast = reused_batch("He3(z)", d=400, alpha=3.0, steps=6, width=1, replicates=1)
    assert fast.attrs["notes"].count(".") == 2  # the step, with its point, and nothing else
    slow = reused_batch("z1*z2", d=400, alpha=3.0, steps=6, loss="correlation", replicates=1)
    assert "takes O(log d)" in slow.attrs["notes"]
    never = reused_batch("sign(z1*z2*z3)", d=400, alpha=3.0, steps=6, replicates=1)
    assert "finds no direction of this target" in never.attrs["notes"]


class Impatient:
    def __init__(self, stop):
        self.stop, self.closed = stop, False

    def step(self, i, total, **scalars):
        if self.stop == "ctrl-c" and i == 7:
            raise KeyboardInterrupt
        return i == 7

    def close(self):
        self.closed = True


@pytest.mark.parametrize("stop", ["ctrl-c", "asked"])
def test_an_interrupted_run_keeps_what_was_done(stop):
    watcher = Impatient(stop)
    run = reused_batch(
        "z", d=30, n=60, width=1, step_size=0.1, steps=4, replicates=3, progress=watcher
    )
    assert watcher.closed
    done = np.isfinite(run.train_mse.values)
    assert done.sum(axis=1).tolist() == [5, 3, 0]
    assert "interrupted" in run.attrs["notes"]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (dict(d=3), "d must be at least r \\+ width"),
        (dict(alpha=1.0), "give either alpha or n"),
        (dict(n=None), "give either alpha or n"),
        (dict(n=None, alpha=float("nan")), "alpha must be a finite number"),
        (dict(n=None, alpha=1e-9), "alpha must be a finite number >= 1/d"),
        (dict(n=0), "n must be an integer >= 1"),
        (dict(step_size="large"), 'step_size must be a finite number > 0.*"auto" chooses it'),
        (dict(step_size=float("nan")), "step_size must be a finite number"),
        (dict(width=0), "width must be an integer >= 1"),
        (dict(dtype="float16"), "dtype must be"),
        (dict(record=[99]), "record must hold steps from 0 to 6"),
        (dict(batch_size=0), "batch_size must be an integer"),
        (dict(rule="sam"), "needs inner_step_size"),
        (dict(loss="huber"), "unknown loss 'huber'"),
        (dict(optimizer="muon"), "no parameter 'optimizer'"),
        (dict(momentum=1.0), r"momentum must be a number in \[0, 1\)"),
        (dict(momentum=0.5, rule="k_steps"), "momentum is simulated for rule='plain' only"),
    ],
)
def test_bad_arguments_are_refused(wrong, message):
    with pytest.raises(gd.BadData, match=message):
        reused_batch("z1*z2", **(dict(d=20, n=30, steps=6, step_size=0.1) | wrong))


def test_what_does_not_fit_is_refused_before_it_is_drawn():
    with pytest.raises(gd.TooLarge, match="n = 10000000000 samples"):
        reused_batch("z", d=10**9, n=10**10, steps=6, step_size=0.1)
    with pytest.raises(gd.OutOfRegime, match="Sight"):
        reused_batch(gd.Sight("tanh(h)", "He2(z)", exponent=0.5), d=9, n=9, steps=1, step_size=1)
