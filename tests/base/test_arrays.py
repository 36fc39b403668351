"""Arrays of other libraries that come into a learner."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator

import gradone as gd
from gradone.base.arrays import check_fit, check_new, like

strict = pytest.importorskip("array_api_strict")


class Learner(BaseEstimator):
    """Has no parameters; is fitted as soon as it has seen data."""

    def fit(self, X, y, **options):
        self.data_ = check_fit(self, X, y, **options)
        return self


X = np.arange(8.0).reshape(4, 2) ** 2
Y = np.array([0.0, 1.0, 0.0, 1 / 3])


@pytest.mark.parametrize("kind", [np.asarray, np.ndarray.tolist, pd.DataFrame, strict.asarray])
def test_data_of_any_kind_come_out_as_arrays_of_floats(kind):
    xp, inputs, labels = Learner().fit(kind(X), kind(Y) if kind is not pd.DataFrame else Y).data_
    assert xp is (strict if kind is strict.asarray else np)
    np.testing.assert_array_equal(np.asarray(inputs), X)
    np.testing.assert_array_equal(np.asarray(labels), Y)


@pytest.mark.parametrize("xp", [np, strict])
def test_labels_follow_or_keep_their_precision(xp):
    """Would catch: 1/3 rounded to single precision, which is no value of the channel any more."""
    single = xp.asarray(X, dtype=xp.float32)
    follow = Learner().fit(single, xp.asarray(Y)).data_[2]
    exact = Learner().fit(single, xp.asarray(Y), labels="exact").data_[2]
    assert follow.dtype == xp.float32
    assert exact.dtype == xp.float64
    assert float(exact[3]) == 1 / 3


def test_integers_become_floats_and_text_is_for_those_who_ask():
    integers = strict.asarray(np.arange(8).reshape(4, 2))
    assert Learner().fit(integers, [0, 1, 0, 1]).data_[1].dtype == strict.float64
    words = np.array(["a", "b", "a", "b"])
    assert list(Learner().fit(integers, words, labels="any").data_[2]) == list(words)
    with pytest.raises(gd.BadData, match="needs numbers as labels"):
        Learner().fit(integers, words)


@pytest.mark.parametrize(
    ("inputs", "labels", "text"),
    [
        (np.zeros(4), Y, r"needs X of shape \(n, d\), got an array with 1 dimensions"),
        (X[:1], Y[:1], r"with 1 sample\(s\) and 2 feature\(s\) while a minimum of 2"),
        (X[:, :0], Y, r"4 sample\(s\) and 0 feature\(s\)"),
        (X * 1j, Y, "Complex data not supported"),
        (X + np.array([np.nan, 0]), Y, "Input X of Learner contains NaN or infinity"),
        (X, Y[:3], r"one label for each of the 4 rows of X, got shape \(3,\)"),
        (X, Y + np.inf, "Input y of Learner contains NaN or infinity"),
    ],
)
def test_foreign_data_are_checked_where_they_are(inputs, labels, text):
    with pytest.raises(gd.BadData, match=text):
        Learner().fit(strict.asarray(inputs), labels)


def test_new_inputs_must_be_like_the_old_ones():
    foreign, own = Learner().fit(strict.asarray(X), Y), Learner().fit(X, Y)
    assert check_new(foreign, strict.asarray(X))[0] is strict
    with pytest.raises(gd.BadData, match=r"Learner\.predict\(\) must use the same namespace"):
        check_new(foreign, X)
    with pytest.raises(gd.BadData, match=r"Learner\.transform\(\) must use the same namespace"):
        check_new(own, strict.asarray(X), method="transform")
    with pytest.raises(gd.BadData, match="X has 1 features, but Learner is expecting 2 features"):
        check_new(foreign, strict.asarray(X[:, :1]))
    with pytest.raises(ValueError, match="X has 1 features, but Learner is expecting 2 features"):
        check_new(own, X[:, :1])


def test_a_second_fit_forgets_the_names_of_the_first():
    learner = Learner().fit(pd.DataFrame(X, columns=["a", "b"]), Y)
    assert list(learner.feature_names_in_) == ["a", "b"]
    learner.fit(strict.asarray(X), Y)
    assert not hasattr(learner, "feature_names_in_")


def test_values_take_library_and_dtype():
    one = like(strict.asarray(X, dtype=strict.float32), np.array([0.5]))
    assert type(one) is type(strict.asarray(X))
    assert one.dtype == strict.float32
