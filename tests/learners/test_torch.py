"""Networks of PyTorch: read, watched, probed, and on the axes of the theories."""

import importlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import gradone as gd
from gradone.experiments.store import Store
from gradone.learners._models import gradients, read_model

torch = pytest.importorskip("torch", reason="make test-torch installs it")

OWN = Path(__file__).parents[2] / "examples" / "own"
D = 20


def network(seed=0, width=40, d=D):
    torch.manual_seed(seed)
    layers = torch.nn.Linear(d, width), torch.nn.Tanh(), torch.nn.Linear(width, 1)
    return torch.nn.Sequential(*layers).double()


def trained(sample, steps=400):
    module = network()
    adam = torch.optim.Adam(module.parameters(), lr=1e-2, weight_decay=1e-3)
    X, y = torch.as_tensor(sample.X), torch.as_tensor(sample.y)
    for _ in range(steps):
        adam.zero_grad()
        ((module(X)[:, 0] - y) ** 2).mean().backward()
        adam.step()
    return module


def test_a_module_is_read_exactly():
    module = network()
    module.train()
    X = np.random.default_rng(0).standard_normal((5, D))
    model = read_model(module, D)
    first, last = module[0], module[2]
    hidden = np.tanh(X @ first.weight.detach().numpy().T + first.bias.detach().numpy())
    wanted = hidden @ last.weight.detach().numpy()[0] + last.bias.item()
    assert np.allclose(model.predict(X), wanted)
    assert np.array_equal(model.weights, first.weight.detach().numpy())
    [features] = model.layers.values()
    assert np.allclose(features(X), hidden)
    slopes = (last.weight.detach().numpy()[0] * (1 - hidden**2)) @ first.weight.detach().numpy()
    assert np.allclose(model.gradients(X), slopes)
    assert np.allclose(gradients(model.predict, X), slopes, atol=1e-4)
    assert module.training  # it is left as it was
    assert not module[2]._forward_pre_hooks


def test_a_module_and_its_optimizer_are_watched():
    """The same steps as a loop of one's own, number for number."""
    target = gd.Target("tanh(z)")
    module = network()
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)
    found = gd.watch(
        (module, optimizer), target, d=D, steps=60, every=20, batch_size=32, progress=False
    )
    own = network()
    other = torch.optim.SGD(own.parameters(), lr=0.1, momentum=0.9)
    for part in target.stream(60 * 32, D, chunk=32):
        other.zero_grad()
        loss = 0.5 * ((own(torch.as_tensor(part.X))[:, 0] - torch.as_tensor(part.y)) ** 2).mean()
        loss.backward()
        other.step()
    assert torch.equal(own[0].weight, module[0].weight)
    assert found.test_mse[-1] < found.test_mse[0]
    assert found.kernel_alignment[-1] > found.kernel_alignment[0]
    assert dict(found.overlap.sizes) == {"step": 3, "neuron": 40, "direction": 1}


def test_a_module_is_probed():
    sample = gd.Target("z1*z2").sample(n=3000, d=D)
    found = gd.probe(trained(sample), sample.X, sample.y, before=network(), progress=False)
    overlaps = np.linalg.svd(found.directions @ sample.W_star.T, compute_uv=False)
    assert found.kind == "directions"
    assert len(found.directions) == 2
    assert overlaps.min() > 0.9
    assert found.layers[1].alignment > found.layers[1].alignment_before
    frozen = network(seed=3, width=200)
    assert gd.probe(frozen, sample.X, sample.y, progress=False).kind == "lazy"


def test_adam_stands_with_the_theories(monkeypatch):
    monkeypatch.syspath_prepend(str(OWN))
    train = importlib.import_module("adam").train
    found = gd.compare(
        "He2(z1) + z1*z2", ["bayes_amp", "random_features", gd.Algorithm(train, label="Adam")],
        d=30, alpha=[4.0, 20.0], replicates=1, budget=600, progress=False,
    )  # fmt: skip
    assert (found.outcome == "done").all()
    mine = found.test_mse.sel(source="simulation:train", alpha=20.0)
    assert mine < 0.5 * found.test_mse.sel(source="theory:random_features", alpha=20.0)
    assert mine > found.test_mse.sel(source="theory:bayes_amp", alpha=20.0)
    assert any("Adam" in one.name for one in gd.draw("error-vs-alpha", found).series)


SWEEP = """
import sys
import gradone as gd
from adam import train
if __name__ == "__main__":
    sweep = gd.Experiment(name="e", targets=["He2(z1) + z1*z2"], algorithms=[train],
                          grid={"d": 30, "n": [100, 200, 300, 400]}, replicates=2)
    gd.run(sweep, store=sys.argv[1], progress=False)
"""


def test_a_sweep_of_adam_is_killed_and_resumed(tmp_path):
    """SIGKILL from outside after the first cells; the rest is as in a sweep that was not broken."""
    (tmp_path / "sweep.py").write_text(SWEEP)
    path = os.pathsep.join(filter(None, [str(OWN), os.environ.get("PYTHONPATH", "")]))

    def start(store):
        return subprocess.Popen(
            [sys.executable, "sweep.py", store], cwd=tmp_path, env=os.environ | {"PYTHONPATH": path}
        )

    def stored(store):
        if not (tmp_path / store).exists():
            return {}
        with Store(tmp_path / store, "ro") as opened:
            return {one.result.key: one.result.arrays["test_mse"] for one in opened.results()}

    broken, deadline = start("broken.db"), time.monotonic() + 120
    while len(before := stored("broken.db")) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    os.kill(broken.pid, signal.SIGKILL)
    assert broken.wait() == -signal.SIGKILL  # it had not ended by itself
    before = stored("broken.db")
    assert 2 <= len(before) < 8
    assert start("broken.db").wait() == 0
    assert start("whole.db").wait() == 0
    after, whole = stored("broken.db"), stored("whole.db")
    assert len(after) == 8
    assert after.keys() == whole.keys()
    for key, value in after.items():
        assert np.array_equal(value, whole[key])
        assert key not in before or np.array_equal(value, before[key])
