"""Reports on tables: what they say about data whose truth is known."""

import copy
import dataclasses
import json
import re

import numpy as np
import pytest

from gradone.learners import FeatureClassifier, FeatureRegressor
from gradone.learners.tables.tabular import encoder_of
from gradone.learners.tables.tabular.table import table_of
from gradone.report.table import Prepared, fit_prepared, prepare
from gradone.report.table import words as say
from gradone.report.table.comparison import Comparison, Entry, score
from gradone.report.table.growth import measure_growth
from gradone.report.table.loadings import loading_errors
from gradone.report.table.pictures import growth_chart, map_chart
from gradone.report.table.variance import explained_variance

SMALL = {"max_directions": 2, "cv": 2, "n_landmarks": 50, "n_landmarks_final": 60}


def prepared(X, y, task="regression", names=None):
    names = names or [f"x{i}" for i in range(X.shape[1])]
    table = table_of(dict(zip(names, X.T, strict=True)))
    return Prepared(X, y, encoder_of(table), "y", task, (), (), "table.csv", table)


def normal(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


@pytest.fixture(scope="module")
def saddle():
    """y = z1 z2 along hidden directions, with odd names; learned with two folds."""
    X = normal(240, 4)
    R = np.linalg.qr(normal(4, 4, seed=1))[0]
    z = X @ R
    names = ["<b>bold</b>", "price ($)", "a_1 & b", "</script><script>alert(1)</script>"]
    data = prepared(X, z[:, 0] * z[:, 1], names=names)
    learner = FeatureRegressor(**SMALL, random_state=0)
    return fit_prepared(data, folds=2, learner=learner), R


def test_the_directions_are_those_of_the_truth(saddle):
    fit, R = saddle
    inside = np.linalg.norm(fit.learner.directions_ @ R[:, :2], axis=1)
    assert fit.learner.n_directions_ == 2
    assert inside.min() > 0.98
    assert "depends on 2 combinations of the 4 features" in say.finding(fit)
    assert fit.comparison.own.mean > 0.8
    assert fit.comparison.entries["ridge"].mean < 0.2


def test_shares_of_the_gradient_and_of_the_variance_are_told_apart():
    """y = z1 + sin(4 z2)/2: variances 1 and 1/8, mean square gradients 1 and 2."""
    X = normal(2000, 2)
    y = X[:, 0] + np.sin(4 * X[:, 1]) / 2
    rows = np.arange(2000)
    folds = [(rows[:1000], rows[1000:]), (rows[1000:], rows[:1000])]
    steep_first = np.eye(2)[::-1]
    found = explained_variance(prepared(X, y), folds, [steep_first, steep_first], 2)
    np.testing.assert_allclose(found, [1 / 9, 1.0], atol=0.05)
    one = explained_variance(prepared(X, y), folds, [np.eye(1, 2), np.zeros((0, 2))], 2)
    np.testing.assert_allclose(one, 0.5 * 8 / 9, atol=0.03)


def test_errors_of_loadings_are_the_spread_of_repeated_tables():
    """Least squares of y = x b + noise: the jackknife against the spread over 300 tables."""
    rng, truth = np.random.default_rng(0), np.array([0.8, 0.6, 0.0])

    def unit(X, y):
        slope = np.linalg.lstsq(X, y)[0]
        return (slope / np.linalg.norm(slope))[None] * rng.choice([-1, 1])

    whole, squares = [], []
    for _ in range(300):
        X = rng.standard_normal((100, 3))
        y = X @ truth + rng.standard_normal(100)
        direction = unit(X, y)
        parts = [unit(np.delete(X, rows, 0), np.delete(y, rows)) for rows in fifths(100)]
        squares.append(loading_errors(direction, parts)[0] ** 2)
        whole.append(direction[0] * np.sign(direction[0, 0]))
    # Five folds: each square has a relative spread of sqrt(2/4), the mean of 300 one of 0.04, and
    # the variance over 300 tables one of 0.08. Known: the jackknife is a little too large.
    ratio = np.mean(squares, axis=0) / np.var(whole, axis=0, ddof=1)
    assert (ratio > 0.6).all()
    assert (ratio < 1.6).all()


def fifths(n):
    return np.arange(n).reshape(5, -1)


def test_a_direction_that_a_fit_does_not_find_has_large_errors():
    both, one = np.eye(2, 3), np.eye(1, 3)
    errors = loading_errors(both, [both, one, both, one])
    assert errors[0].tolist() == [0.0, 0.0, 0.0]
    assert errors[1, 1] == pytest.approx(np.sqrt(3 / 4))
    assert np.isnan(loading_errors(both, [both])).all()


def test_the_finding_follows_the_weights_of_the_members(saddle):
    """Directions of weight zero are not what the target depends on."""
    learner = copy.copy(saddle[0].learner)
    learner.member_weights_ = {"kernel": 0.9, "stage 1": 0.1}
    text = say.finding(dataclasses.replace(saddle[0], learner=learner))
    assert "2 combinations of the 4 features do not carry the prediction" in text
    learner.n_directions_ = 1
    text = say.finding(dataclasses.replace(saddle[0], learner=learner))
    assert "one combination of the 4 features does not carry the prediction" in text


def test_names_of_users_are_text_and_nothing_else(saddle):
    page = saddle[0].to_html(command="gradone fit '<x>'")
    assert "&lt;b&gt;bold&lt;/b&gt;" in page
    assert "<b>" not in page
    assert "<script" not in page
    assert "gradone fit &#x27;&lt;x&gt;&#x27;" in page
    assert len(re.findall("<svg", page)) == 6  # scores, predictions, two coordinates, map, curve


def test_numbers_of_a_report_are_json_and_add_up(saddle):
    fit, _ = saddle
    found = json.loads(json.dumps(fit.to_dict(), allow_nan=False))
    own, ridge = found["scores"]["gradone"], found["scores"]["ridge"]
    difference = np.subtract(own["folds"], ridge["folds"])
    assert found["gain"]["ridge"][0] == pytest.approx(difference.mean())
    assert own["error"] == pytest.approx(np.std(own["folds"], ddof=1) / np.sqrt(2))
    assert found["learning_curve"]["rows"][-1] == 120
    first, second = found["directions"]
    assert first["gradient_share"] + second["gradient_share"] == pytest.approx(1)
    assert first["explained_variance"] < 0.3  # z1 alone says nothing about z1 z2
    assert second["explained_variance"] > 0.8
    assert "variance explained with those before it" in fit.to_html()
    assert found["learning_curve"]["scores"]["gradone"][-1] == own["folds"]


def test_the_map_shows_every_row_once(saddle):
    fit, _ = saddle
    chart = map_chart(fit)
    assert sum(len(one.x) for one in chart.series) == 240
    assert len(chart.series) == 5
    drawn = np.array([point for one in chart.series for point in zip(one.x, one.y, strict=True)])
    Z = fit.learner.transform(fit.data.X)
    np.testing.assert_allclose(np.sort(drawn[:, 0]), np.sort(Z[:, 0]))


def test_predicted_curve_of_a_linear_fit_is_that_of_the_truth():
    """Gaussian features, linear target with noise 1: R² = 1 - (1 + error)/(variance of y).

    A fit to n of 600 rows with hardly any penalty has the excess error d/(n - d - 1) exactly.
    """
    X, d = normal(600, 5), 5
    beta = np.ones(d)
    y = X @ beta + normal(600, 1, seed=1)[:, 0]
    data = prepared(X, y)
    folds = [(np.arange(0, 300), np.arange(300, 600)), (np.arange(300, 600), np.arange(300))]
    own = Entry("gradone", np.array([0.8, 0.8]), 1.0)
    other = Entry("ridge", np.array([0.8, 0.8]), 1.0)
    learner = FeatureRegressor(members=["linear"], cv=2, random_state=0)
    comparison = Comparison({"gradone": own, "ridge": other}, "R²")
    growth = measure_growth(data, learner, comparison, folds, lambda text: None)
    prediction = growth.prediction
    exact = 1 - (1 + d / (prediction.sizes - d - 1)) / 6
    assert (np.abs(prediction.scores - exact) < prediction.errors + 0.02).all()
    np.testing.assert_allclose(growth.scores["linear"].mean(axis=1)[-1], exact[-1], atol=0.05)
    np.testing.assert_array_equal(growth.sizes, [37, 75, 150, 300])


@pytest.mark.parametrize(
    ("X", "y", "reason"),
    [
        (normal(90, 2), np.arange(90) % 3, "the theory covers two classes, and the target has 3"),
        (normal(40, 30), np.arange(40.0), "covariances of all 30 features from the table, and 40"),
        (
            np.repeat([[0.0, 0.0], [9.0, 9.0]], 40, axis=0) + normal(80, 2),
            np.repeat([0, 1], 40),
            "the classes are clusters",
        ),
    ],
    ids=["three classes", "few rows", "clusters"],
)
def test_where_theory_does_not_apply_the_reason_is_told(X, y, reason):
    from gradone.report.table.growth import _prediction

    task = "classification" if y.dtype.kind == "i" else "regression"
    found = _prediction(prepared(X, y, task), np.array([20, 30]), 1.0)
    assert len(found.sizes) == 0
    assert reason in found.remark
    assert "Use " not in found.remark


def test_pure_noise_is_called_so():
    X, y = normal(150, 3), normal(150, 1, seed=2)[:, 0]
    learner = FeatureRegressor(members=["linear", "kernel"], cv=2, random_state=0)
    fit = fit_prepared(prepared(X, y), folds=2, curve=False, learner=learner)
    assert say.finding(fit).startswith("Nothing in this table predicts y better than a constant")
    assert growth_chart(fit) is None
    page = fit.to_html()
    assert "There are no directions to show" in page
    assert "Learning curve" not in page


def test_two_classes_have_a_map_and_a_table_of_mistakes():
    X = normal(160, 3)
    y = np.where(X[:, 0] * X[:, 1] > 0, "same", "opposite")
    learner = FeatureClassifier(**SMALL, random_state=0)
    fit = fit_prepared(prepared(X, y, "classification"), folds=2, curve=False, learner=learner)
    assert fit.comparison.measure == "accuracy"
    assert fit.comparison.own.mean > fit.comparison.entries["logistic"].mean + 0.2
    page = fit.to_html()
    cells = [int(n) for n in re.findall(r'<td style="[^"]*">(\d+)</td>', page)]
    assert sum(cells[:4]) == 160
    assert map_chart(fit).series[0].name == "opposite"


# ---- preparation


def written(tmp_path, **columns):
    path = tmp_path / "table.csv"
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines))
    return path


def test_few_whole_numbers_are_classes_unless_told_otherwise(tmp_path):
    path = written(tmp_path, x=range(40), y=[1, 2, 3, 4] * 10)
    found = prepare(path, "y")
    assert (found.task, found.y.dtype.kind, found.classes) == ("classification", "i", list("1234"))
    assert "4 different whole numbers (1, 2, 3, 4), which were taken for classes" in found.notes[0]
    assert prepare(path, "y", task="regression").task == "regression"
    halves = written(tmp_path, x=range(40), y=[0.5, 1.5] * 20)
    assert prepare(halves, "y").task == "regression"
    assert prepare(halves, "y", task="classification").classes == ["0.5", "1.5"]
    many = written(tmp_path, x=range(40), y=[i % 11 for i in range(40)])
    assert prepare(many, "y").task == "regression"
    truth = written(tmp_path, x=range(40), y=["True", "False"] * 20)
    assert prepare(truth, "y").task == "classification"


def test_missing_values_are_filled_and_noted(tmp_path):
    x = ["", "na", *range(38)]
    eyes = ["?", *["blue", "brown", "green"] * 13]
    path = written(tmp_path, x=x, eyes=eyes, y=[*np.arange(39) / 7, ""])
    found = prepare(path, "y")
    levels = ("eyes=blue", "eyes=brown", "eyes=green", "eyes=(missing)")
    assert found.features == ("x", "x=(missing)", *levels)
    assert found.X[0].tolist() == [18.0, 1, 0, 0, 0, 1]
    assert found.notes == (
        "1 row without a value of 'y' was left out.",
        "Missing values were filled in: 'x' (2), 'eyes' (1). Numbers get the median and a mark, "
        "texts a level of their own.",
    )


def test_copies_and_constants_are_left_out_and_named(tmp_path):
    x = np.random.default_rng(0).integers(0, 1000, 40)
    path = written(
        tmp_path,
        x=x,
        minus=-2 * x + 5,
        words=np.array(["a", "b"])[x % 2],
        letters=np.array(["q", "p"])[x % 2],
        one=["k"] * 40,
        other=x**2,
        y=np.arange(40) / 3,
    )
    found = prepare(path, "y")
    assert found.features == ("x", "words=b", "other")
    assert found.notes == (
        "'one' has the same value in every row and was left out.",
        "'minus' repeats 'x', 'letters' repeats 'words' (up to scale) and were left out.",
    )


def test_scores():
    y = np.array([1.0, 2.0, 3.0])
    assert score("regression", y, y) == 1.0
    assert score("regression", y, np.full(3, 2.0)) == 0.0
    assert score("classification", np.array([0, 1, 1]), np.array([0, 1, 0])) == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("own", "other", "verdict"),
    [
        ([0.9, 0.91, 0.92], [0.8, 0.81, 0.83], "gradone is ahead."),
        ([0.8, 0.81, 0.83], [0.9, 0.91, 0.92], "ridge regression is ahead."),
        ([0.9, 0.8, 0.7], [0.8, 0.7, 0.9], "there is no clear winner."),
    ],
)
def test_a_winner_is_named_only_if_the_folds_agree(own, other, verdict):
    class Fit:
        comparison = Comparison(
            {
                "gradone": Entry("gradone", np.array(own), 1.0),
                "ridge": Entry("ridge", np.array(other), 1.0),
            },
            "R²",
        )
        data = prepared(normal(30, 2), np.arange(30.0))

    assert say.headline(Fit()).endswith(verdict)


def test_labels_of_rows_that_are_left_out_do_not_enter_their_features():
    """A column of many texts becomes mean labels: those of the training rows alone."""
    rng = np.random.default_rng(0)
    table = {"city": [f"c{k}" for k in rng.integers(0, 80, 400)], "y": rng.standard_normal(400)}
    train, test = np.arange(300), np.arange(300, 400)
    data = prepare(table, "y")
    assert data.features == ("city (mean label)",)
    other = dataclasses.replace(data, y=np.where(np.arange(400) < 300, data.y, 9.0))
    for one, two in zip(data.numbers(train, test), other.numbers(train, test), strict=True):
        np.testing.assert_array_equal(one, two)
