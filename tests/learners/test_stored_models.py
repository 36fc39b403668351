"""Models in files: the same predictions, and no code in them."""

import json
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pytest

import gradone as gd
from gradone.learners import (
    FeatureClassifier,
    FeatureRegressor,
    SpectralDirections,
    TableRegressor,
    load_model,
)
from gradone.learners.stored_models import SCHEMA
from gradone.learners.tables.tabular import encoder_of
from gradone.learners.tables.tabular.table import table_of

from .rotated import product_plus_linear, rotated, sign_product

SMALL = {"max_directions": 3, "cv": 2, "n_landmarks": 60, "n_landmarks_final": 80}


@pytest.fixture(scope="module")
def data():
    X, y, _ = rotated(product_plus_linear, n=300, d=5, r=3, seed=0)
    return X, y


@pytest.fixture(scope="module")
def regressor(data):
    return FeatureRegressor(**SMALL, random_state=0).fit(*data)


def test_a_regressor_comes_back_bit_for_bit(regressor, data, tmp_path):
    X, _ = data
    again = load_model(gd.learners.save_model(regressor, tmp_path / "model"))
    assert type(again) is FeatureRegressor
    assert again.get_params() == regressor.get_params()
    np.testing.assert_array_equal(again.predict(X), regressor.predict(X))
    np.testing.assert_array_equal(again.transform(X), regressor.transform(X))
    assert (again.diagnosis_, again.member_weights_) == (
        regressor.diagnosis_,
        regressor.member_weights_,
    )
    assert again.cv_scores_ == regressor.cv_scores_
    assert again.loadings().equals(regressor.loadings())


@pytest.mark.parametrize("members", [["linear"], ["kernel"], ["metric"], ["index"]])
def test_every_family_of_members_comes_back(data, members, tmp_path):
    X, y = data
    model = FeatureRegressor(members=members, **SMALL, random_state=0).fit(X, y)
    again = load_model(gd.learners.save_model(model, tmp_path / "model.npz"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_columns_that_were_left_out_are_left_out_again(tmp_path):
    X = np.random.default_rng(0).standard_normal((300, 24))
    y = np.abs(X[:, 3]) + np.sign(X[:, 7])
    model = FeatureRegressor(**SMALL, random_state=0).fit(X, y)
    assert "columns say no more than shuffled ones can" in model.diagnosis_
    again = load_model(gd.learners.save_model(model, tmp_path / "model"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_classifier_comes_back_with_its_classes_and_probabilities(tmp_path):
    X, y, _ = rotated(sign_product, n=300, d=4, r=2, seed=0)
    words = np.where(y > 0, "even", "odd")
    model = FeatureClassifier(**SMALL, random_state=0).fit(X, words)
    again = load_model(gd.learners.save_model(model, tmp_path / "model"))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.classes_.tolist() == ["even", "odd"]


def test_finders_and_float32_come_back(data, tmp_path):
    X, y = (values.astype(np.float32) for values in data)
    for model in (SpectralDirections(random_state=0), gd.learners.SIR(1, random_state=0)):
        model.fit(X, y)
        again = load_model(gd.learners.save_model(model, tmp_path / "model"))
        assert again.directions_.dtype == np.float32
        np.testing.assert_array_equal(again.transform(X), model.transform(X))


def test_a_model_of_a_table_reads_files_in_another_process(regressor, tmp_path):
    """The process that loads never sees the one that saved."""
    table = table_of({f"x{i}": np.arange(4.0) + i for i in range(5)})
    model = TableRegressor.around(regressor, encoder_of(table), tuple(table.columns))
    gd.learners.save_model(model, tmp_path / "model.npz")
    rows = "".join(",".join(str(float(i + j)) for j in range(5)) + "\n" for i in range(4))
    (tmp_path / "new.csv").write_text("x0,x1,x2,x3,x4\n" + rows)
    code = (
        "import gradone as gd\n"
        "model = gd.learners.load_model('model.npz')\n"
        "print([value.hex() for value in model.predict('new.csv').tolist()])\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, check=True, capture_output=True, text=True
    )
    assert run.stdout.strip() == str([v.hex() for v in model.predict(table).tolist()])


# ---- what is in a file is not run


class Trap:
    sprung = False

    def __reduce__(self):
        return (setattr, (Trap, "sprung", True))


def stored(path, model, schema=SCHEMA, **arrays):
    text = json.dumps({"schema": schema, "model": model}).encode()
    np.savez(path, description=np.frombuffer(text, np.uint8), **arrays)
    return path


def test_pickles_in_arrays_are_refused(tmp_path):
    path = tmp_path / "model.npz"
    trap = np.array([Trap()], dtype=object)
    np.savez(path, allow_pickle=True, description=trap, array0=trap)
    with pytest.raises(gd.BadData, match="is not a model of gradone"):
        load_model(path)
    path.write_bytes(pickle.dumps(Trap()))
    with pytest.raises(gd.BadData, match="is not a model of gradone"):
        load_model(path)
    assert not Trap.sprung


@pytest.mark.parametrize(
    "name",
    [
        "os:system",
        "builtins:eval",
        "subprocess:Popen",
        "feature.ensemble:np",
        "feature.ensemble:fit_ensemble",
        "feature.ensemble:Any",
        "..cli:app",
        "tabular.model:Path",
        "",
    ],
)
def test_classes_outside_the_list_are_refused(tmp_path, name):
    path = stored(tmp_path / "model.npz", {"class": name, "fields": {}})
    with pytest.raises(gd.BadData, match="a model cannot be made of"):
        load_model(path)


def test_objects_are_filled_and_never_called(tmp_path, monkeypatch):
    def spring(self, *args, **kwargs):
        Trap.sprung = True

    monkeypatch.setattr(gd.learners.SIR, "__init__", spring)
    monkeypatch.setattr(gd.learners.SIR, "__setstate__", spring)
    made = load_model(stored(tmp_path / "model.npz", {"class": "sir", "fields": {"rank_": 2}}))
    assert (type(made), made.rank_, Trap.sprung) == (gd.learners.SIR, 2, False)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"array": "gone"}, "damaged"),
        ({"unknown": 1}, "damaged"),
        ([1, 2], "damaged"),
        ({"class": "sir", "fields": {"__class__": 1}}, "damaged"),
    ],
)
def test_damaged_files_are_refused(tmp_path, model, message):
    with pytest.raises(gd.BadData, match=message):
        load_model(stored(tmp_path / "model.npz", model))


def test_other_files_are_refused(tmp_path):
    with pytest.raises(gd.BadData, match="there is no model at"):
        load_model(tmp_path / "none.npz")
    with pytest.raises(gd.BadData, match="has schema 99, this version of gradone reads 1"):
        load_model(stored(tmp_path / "new.npz", None, schema=99))
    np.savez(tmp_path / "arrays.npz", a=np.zeros(2))
    with pytest.raises(gd.BadData, match="has no description"):
        load_model(tmp_path / "arrays.npz")
    with zipfile.ZipFile(tmp_path / "zip.npz", "w") as file:
        file.writestr("a.txt", "text")
    with pytest.raises(gd.BadData, match="is not a model of gradone"):
        load_model(tmp_path / "zip.npz")


def test_two_hundred_damaged_files_are_refused_or_read_as_they_were(regressor, data, tmp_path):
    """Failed before: errors of zlib, of struct, NotImplementedError, RuntimeError."""
    X = data[0][:20]
    expected = regressor.predict(X)
    good = gd.learners.save_model(regressor, tmp_path / "model.npz").read_bytes()
    path, rng = tmp_path / "bad.npz", np.random.default_rng(1)
    ends = [good.rfind(b"PK\x01\x02"), len(good)]  # the list of files stands at the end
    refused = 0
    for attempt in range(200):
        bad = bytearray(good)
        low, high = ends if attempt % 2 else (0, len(good))
        for place in rng.integers(low, high, size=1 + attempt % 3):
            bad[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(bad[: len(bad) - (attempt % 5 == 0) * int(rng.integers(1, 2000))])
        try:
            again = load_model(path)
        except gd.BadData:
            refused += 1
        else:  # a date, for instance, is no part of the model
            np.testing.assert_array_equal(again.predict(X), expected)
    assert refused > 100


@pytest.mark.parametrize("depth", [2000, 200_000])
def test_a_description_nested_without_end_is_refused(tmp_path, depth):
    """Failed before: RecursionError."""
    text = b'{"schema": 1, "model": ' + b'{"list": [' * depth + b"]}" * depth + b"}"
    np.savez(tmp_path / "deep.npz", description=np.frombuffer(text, np.uint8))
    with pytest.raises(gd.BadData, match="is damaged"):
        load_model(tmp_path / "deep.npz")


def test_a_file_does_not_unpack_to_whatever_it_likes(regressor, tmp_path):
    """Failed before: 3.2 GB were made of 3 MB, and headers that claim terabytes were believed."""
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for i in range(5):
            file.writestr(f"array{i}.npy", bytes(2**25))
    with pytest.raises(gd.BadData, match=r"would unpack to 167\.8 MB: no model"):
        load_model(path)
    header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,)}"
    claim = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + bytes(80)
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("array0.npy", claim)
    with pytest.raises(gd.BadData, match="is damaged: cannot reshape array of size 10"):
        load_model(path)
    with pytest.raises(gd.BadData, match="is not a model of gradone, or is damaged"):
        load_model(tmp_path)


def test_what_cannot_be_saved_is_named(tmp_path):
    model = gd.learners.SIR(random_state=0)
    model.extra = print
    with pytest.raises(gd.BadData, match=r"model\.extra is a builtin_function_or_method, which"):
        gd.learners.save_model(model, tmp_path / "model")
