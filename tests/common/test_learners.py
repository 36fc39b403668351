"""What every learner of the registry keeps to."""

import inspect
import json
import re
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks
from typer.testing import CliRunner

import gradone as gd
from gradone.base.arrays import to_numpy
from gradone.cli import app
from gradone.learners import LEARNERS, FeatureClassifier, FeatureRegressor

# What a learner must be told before it can be fitted to the data of scikit-learn's checks, and
# small networks: the contract does not depend on their size, and hundreds of fits are made here.
FEW = {"max_directions": 1, "cv": 1, "n_landmarks": 30}
GIVEN = {
    "bayes_amp": {"channel": gd.Target("z1", noise=1.0)},
    "giant_step": {"width": 32},
    "residual_step": {"width": 32},
    "sir": {"n_components": 1},
    "save": {"n_components": 1},
    "phd": {"n_components": 1},
    "layerwise": {"widths": (32, 16), "steps": 60},
    "joint_network": {"widths": (32, 16), "steps": 60},
    "neural_lofi": {"layers": 2, "n_features": 30, "readout_features": 30},
    "neural_lofi_classifier": {"layers": 2, "n_features": 30, "readout_features": 30},
    "feature_regressor": FEW,
    "feature_classifier": FEW,
    "table_regressor": {"learner": FeatureRegressor(**FEW, random_state=0)},
    "table_classifier": {"learner": FeatureClassifier(**FEW, random_state=0)},
}
NAMES = list(LEARNERS)
SECTIONS = ("Parameters", "Attributes", "Notes", "References", "Examples")
ROWS, FEATURES = 400, 6


def learner(name):
    made = LEARNERS[name](**GIVEN.get(name, {}))
    if "random_state" in made.get_params():
        made.set_params(random_state=0)
    return made


def checked(name):
    """The same, with the number of directions left to the test of the finders."""
    made = learner(name)
    return made.set_params(n_components=None) if "n_components" in made.get_params() else made


def linear_data(name):
    """A linear signal of variance 1 with noise of variance 1, or its sign for classifiers."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((ROWS, FEATURES))
    y = X[:, 0] * 0.6 + X[:, 1] * 0.8 + rng.standard_normal(ROWS)
    return X, np.sign(y) if is_classifier(learner(name)) else y


def answer(fitted, X):
    """What the learner says of inputs, up to the sign of directions."""
    if hasattr(fitted, "decision_function"):
        return fitted.decision_function(X)
    if hasattr(fitted, "predict"):
        return fitted.predict(X)
    return abs(fitted.transform(X))


# Some of scikit-learn's data sets are noise or have few rows; a learner may say what it found.
@pytest.mark.filterwarnings("ignore:transform returns no columns:UserWarning")
@pytest.mark.filterwarnings("ignore:X was centred and scaled:UserWarning")
@pytest.mark.filterwarnings("ignore:Feature.* fits ridge regression alone:UserWarning")
@parametrize_with_checks([checked(name) for name in NAMES])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", NAMES)
def test_scikit_learn_checks_with_the_parameters_that_nobody_set(name):
    given = {"channel": gd.Target("z1", noise=1.0)} if name == "bayes_amp" else {}
    check_estimator(LEARNERS[name](**given), on_skip=None)


@pytest.mark.parametrize("name", NAMES)
def test_float32_stays_and_agrees_with_float64(name):
    """Sums of n numbers of unit size are off by eps sqrt(n); 100 allows for solving with them."""
    X, y = linear_data(name)
    X32 = X.astype(np.float32)
    double = learner(name).fit(X32.astype(np.float64), y)
    single = learner(name).fit(X32, y)
    found = answer(single, X32)
    assert found.dtype == np.float32
    for key in {"directions_", "weights_"} & set(vars(single)):
        rows = getattr(single, key)
        assert (rows.dtype, rows.ndim, rows.shape[1]) == (np.float32, 2, FEATURES), key
    expected = answer(double, X32.astype(np.float64))
    scale = np.abs(expected).max()
    tolerance = 100 * np.finfo(np.float32).eps * np.sqrt(ROWS)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * scale)


@pytest.mark.parametrize("name", NAMES)
def test_arrays_of_other_libraries_give_the_same_numbers(name, xp):
    made = learner(name)
    if not get_tags(made).array_api_support:
        pytest.skip("for NumPy only")
    X, y = linear_data(name)
    expected = answer(clone(made).fit(X, y), X)
    foreign = made.fit(xp.asarray(X), xp.asarray(y))
    found = answer(foreign, xp.asarray(X))
    assert type(found) is type(xp.asarray(X))
    np.testing.assert_allclose(to_numpy(found), expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_another_library_than_that_of_fit_is_refused(name):
    made = learner(name)
    if not get_tags(made).array_api_support:
        pytest.skip("for NumPy only")
    strict = pytest.importorskip("array_api_strict")
    X, y = linear_data(name)
    made.fit(X, y)
    method = "predict" if hasattr(made, "predict") else "transform"
    with pytest.raises(gd.BadData, match=rf"{type(made).__name__}\.{method}\(\) must use the same"):
        getattr(made, method)(strict.asarray(X))


@pytest.mark.parametrize("name", NAMES)
def test_the_seed_decides(name):
    X, y = linear_data(name)
    first, second = (answer(learner(name).fit(X, y), X) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("name", NAMES)
def test_docstring_tells_what_a_user_needs(name):
    cls = LEARNERS[name]
    text = inspect.getdoc(cls)
    headings = re.findall(r"^(\w+)\n-+$", text, re.MULTILINE)
    assert [section for section in SECTIONS if section not in headings] == []
    told, attributes = re.split(r"^Attributes\n-+\n", text, flags=re.MULTILINE)
    told = re.split(r"^Parameters\n-+\n", told, flags=re.MULTILINE)[1]
    lines = re.findall(r"^(\w[\w, ]*) :", told, re.MULTILINE)
    assert set(inspect.signature(cls).parameters) == {n for line in lines for n in line.split(", ")}
    learned = set(re.findall(r"\b[a-z]\w*_\b", attributes))
    X, y = linear_data(name)
    public = {k for k in vars(learner(name).fit(X, y)) if k.endswith("_") and k[0] != "_"}
    assert public - {"n_features_in_"} <= learned
    assert cls.cost


@pytest.mark.parametrize("name", NAMES)
def test_its_sources_are_in_the_list_and_in_the_docstring(name):
    cls = LEARNERS[name]
    assert gd.cite(cls) == gd.cite(learner(name))
    assert gd.cite(cls).count("\n") + 1 == len(cls.cites)
    assert [key for key in cls.cites if key not in cls.__doc__] == []


@pytest.mark.parametrize("name", NAMES)
def test_it_is_a_name_of_the_room(name):
    cls = LEARNERS[name]
    assert getattr(gd.learners, cls.__name__) is cls
    assert cls.__name__ in dir(gd.learners)


def test_an_unknown_name_is_an_attribute_error():
    assert not hasattr(gd.learners, "Spectral")


def test_they_are_listed():
    listed = json.loads(CliRunner().invoke(app, ["list", "--json"]).stdout)["learners"]
    assert list(listed) == NAMES
    assert all(listed.values())


def test_learners_see_data_and_nothing_else():
    """The contract of imports, at run time: loading every learner loads no analysis or theory."""
    code = "import gradone, sys; list(gradone.learners.LEARNERS); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    rooms = {".".join(module.split(".")[:2]) for module in run.stdout.split()}
    assert "gradone.learners" in rooms
    assert rooms.isdisjoint({"gradone.analysis", "gradone.theory", "gradone.dynamics"})
