"""Tables of files: what is read, what is refused, and what becomes of it."""

import sys

import numpy as np
import pandas as pd
import pytest

import gradone as gd
from gradone.learners import FeatureRegressor, TableRegressor
from gradone.learners.tables.tabular import encoder_of, read_table
from gradone.learners.tables.tabular.table import table_of


@pytest.fixture
def written(tmp_path):
    def write(text, name="table.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(text.encode(encoding))
        return path

    return write


def test_columns_are_what_they_hold(written):
    path = written("age,eyes,note,on\n30,blue,7,2024-01-31\n41.5,brown,,2024-02-01\n-1e3,,9,\n")
    table = read_table(path)
    kinds = {name: column.kind for name, column in table.columns.items()}
    assert kinds == {"age": "number", "eyes": "category", "note": "number", "on": "date"}
    np.testing.assert_array_equal(table["age"].numbers, [30, 41.5, -1000])
    np.testing.assert_array_equal(table["note"].numbers, [7, np.nan, 9])
    assert table["eyes"].levels == ("blue", "brown")
    np.testing.assert_array_equal(table["eyes"].codes, [0, 1, -1])


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_separators_are_found_out(written, separator):
    rows = [["a", "b b"], ["1", "x"], ["2", f'"y{separator}z"']]
    table = read_table(written("\r\n".join(separator.join(row) for row in rows)))
    assert list(table.columns) == ["a", "b b"]
    assert table["b b"].levels == ("x", f"y{separator}z")


def test_numbers_are_read_exactly(written):
    values = np.random.default_rng(0).standard_normal(5000) * 10.0 ** np.arange(-10, 10).repeat(250)
    path = written("x,y\n" + "".join(f"{v!r},1\n" for v in values.tolist()))
    np.testing.assert_array_equal(read_table(path)["x"].numbers, values)


def test_the_mark_of_byte_order_and_row_names_of_data_frames_are_no_columns(tmp_path):
    path = tmp_path / "frame.csv"
    pd.DataFrame({"a": [1, 2], "b": ["x", "y"]}).to_csv(path, encoding="utf-8-sig")
    table = read_table(path)
    assert list(table.columns) == ["a", "b"]
    assert table.notes == (
        "The first column has no name: it was taken for row names and left out.",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("a,b\n", "has names but no rows"),
        ("a\n1\n", "has one column"),
        ("a,b\n1,2\n3\n", "line 3 of .* has 1 cells, but the line of names has 2"),
        ("a,a\n1,2\n", "several columns with the name 'a'"),
        ("a,,c\n1,2,3\n", "column 2 of .* has no name"),
        ("1,2\n3,4\n", "holds numbers, not names"),
        ("a,b\n1,inf\n2,3\n", "column 'b' of .* has infinite values, the first in row 1"),
        ('a,b\n1,"2\n', "cannot be read as CSV"),
    ],
)
def test_what_is_no_table_is_refused(written, text, message):
    with pytest.raises(gd.BadData, match=message):
        read_table(written(text))


def test_files_that_are_not_there_or_not_text_are_refused(written, tmp_path):
    with pytest.raises(gd.BadData, match="does not exist: name a CSV"):
        read_table(tmp_path / "none.csv")
    with pytest.raises(gd.BadData, match="is a folder"):
        read_table(tmp_path)
    with pytest.raises(gd.BadData, match="is not text in UTF-8"):
        read_table(written("a,b\n1,é\n", encoding="latin-1"))


def test_parquet_needs_pyarrow_and_says_so(written, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(gd.BadData, match="pyarrow is not installed. pip install pyarrow"):
        read_table(written("PAR1", name="table.parquet"))


def test_parquet_is_read_where_pyarrow_is(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "table.parquet"
    parquet.write_table(pyarrow.table({"a": [1, None], "b": ["x", "y"], "c": [True, False]}), path)
    table = read_table(path)
    assert [column.kind for column in table.columns.values()] == ["number", "category", "category"]


def test_levels_become_columns_of_zeros_and_ones():
    table = table_of({"n": [1, 2, 3], "two": ["m", "f", "m"], "three": ["a", "c", "b"]})
    encoder = encoder_of(table)
    assert encoder.features == ("n", "two=m", "three=a", "three=b", "three=c")
    expected = [[1, 1, 1, 0, 0], [2, 0, 0, 0, 1], [3, 1, 0, 1, 0]]
    np.testing.assert_array_equal(encoder(table), expected)


def test_missing_values_are_filled_and_marked():
    table = table_of({"n": [1.0, np.nan, 5.0, 2.0], "t": ["a", None, "b", "a"]})
    encoder = encoder_of(table)
    assert encoder.features == ("n", "n=(missing)", "t=a", "t=b", "t=(missing)")
    np.testing.assert_array_equal(encoder(table)[1], [2.0, 1, 0, 0, 1])


def test_dates_are_days_months_weekdays_and_hours(written):
    path = written("on,y\n1970-01-05,1\n2024-02-29 13:30,2\n,3\n")
    table = read_table(path).without("y")
    encoder = encoder_of(table)
    assert encoder.features == ("on", "on (month)", "on (weekday)", "on (hour)")
    days = (np.datetime64("2024-02-29") - np.datetime64("1970-01-01")).astype(int) + 13.5 / 24
    np.testing.assert_allclose(encoder(table)[:2], [[4, 1, 0, 0], [days, 2, 3, 13]])
    frame = pd.DataFrame({"on": pd.to_datetime(["1970-01-05 00:00", "2024-02-29 13:30", None])})
    np.testing.assert_allclose(encoder(table_of(frame)), encoder(table))


def test_many_texts_become_the_mean_label_of_other_rows():
    """Labels that are noise: the encoding of a row must not tell its own label."""
    rng = np.random.default_rng(0)
    table = table_of({"city": [f"c{k}" for k in rng.integers(0, 80, 400)]})
    y = rng.standard_normal((400, 1))
    encoder = encoder_of(table, y)
    assert encoder.uses_labels
    assert encoder.features == ("city (mean label)",)
    told = [
        np.corrcoef(x[:, 0], y[:, 0])[0, 1] for x in (encoder(table), encoder.of_training(table, y))
    ]
    assert told[0] > 0.3
    assert abs(told[1]) < 0.25  # five standard errors
    other = encoder(table_of({"city": ["c0", "elsewhere"]}))
    np.testing.assert_allclose(other[1, 0], y.mean())


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["03/04/2024"] * 30, r"holds dates \('03/04/2024' in line 2\).*which number is the day"),
        ([f"name {i}" for i in range(60)], "holds text .*60 different texts, at most 50"),
        ([str(i) for i in range(60)] + ["many"], r"'many' in line 62 among 60 numbers"),
        ([""] * 5, "is empty"),
    ],
    ids=["dates", "names", "a word among numbers", "empty"],
)
def test_columns_that_are_no_features_are_refused(written, cells, message):
    path = written("x,y\n" + "".join(f"{cell},1\n" for cell in cells))
    with pytest.raises(gd.BadData, match=message):
        encoder_of(read_table(path).without("y"))


@pytest.fixture(scope="module")
def learner():
    """y = a b, with a column of texts that says nothing."""
    rng = np.random.default_rng(0)
    table = {name: rng.standard_normal(300) for name in "ab"} | {"t": ["x", "y", "z"] * 100}
    small = FeatureRegressor(2, cv=2, n_landmarks=50, n_landmarks_final=60, random_state=0)
    return TableRegressor(small).fit(table, table["a"] * table["b"])


def test_new_rows_come_from_files_frames_and_dictionaries(learner, written):
    new = {"t": ["z", "x"], "more": [0, 0], "a": [1.0, 0.5], "b": [0.5, -1.0]}
    expected = learner.predict(new)
    np.testing.assert_allclose(expected, [0.5, -0.5], atol=0.1)
    np.testing.assert_array_equal(learner.predict(pd.DataFrame(new)), expected)
    path = written("t,more,a,b\nz,0,1.0,0.5\nx,0,0.5,-1.0\n")
    np.testing.assert_array_equal(learner.predict(path), expected)
    np.testing.assert_array_equal(learner.predict(str(path)), expected)


def test_texts_that_training_did_not_have_are_no_level_and_are_named(learner):
    with pytest.warns(UserWarning, match="'t' has 'w', which the table that was learned from"):
        found = learner.predict({"a": [1.0], "b": [0.5], "t": ["w"]})
    np.testing.assert_allclose(found, 0.5, atol=0.2)


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ({"a": [1], "b": [1]}, "no column 't'"),
        ({"a": ["one"], "b": [1], "t": ["x"]}, "'a' must hold numbers"),
    ],
)
def test_rows_of_another_kind_are_refused(learner, new, message):
    with pytest.raises(gd.BadData, match=message):
        learner.predict(new)


def test_frames_of_every_kind_give_the_same_table():
    polars = pytest.importorskip("polars")
    columns = {
        "n": [1, None, 3],
        "x": [0.5, 1.5, None],
        "t": ["a", None, "b"],
        "b": [True, None, False],
    }
    plain = table_of(columns)
    nullable = pd.DataFrame(
        {"n": pd.array([1, None, 3], dtype="Int64")}
        | {
            "x": [0.5, 1.5, None],
            "t": pd.Categorical(["a", None, "b"]),
            "b": pd.array([True, None, False], dtype="boolean"),
        }
    )
    for frame in (nullable, polars.DataFrame(columns)):
        table = table_of(frame)
        for name, column in plain.columns.items():
            assert table[name].kind == column.kind
            assert table[name].levels == column.levels
            np.testing.assert_array_equal(table[name].missing, column.missing)


def test_what_was_left_out_is_noted():
    table = {
        "a": np.arange(60.0) ** 2,
        "same": np.ones(60),
        "id": np.arange(60),
        "name": [f"row {k}" for k in range(60)],
    }
    learner = TableRegressor(random_state=0)
    with pytest.warns(UserWarning, match="leaks"):
        learner.fit(table, np.arange(60.0))
    assert any("'same' has the same value in every row" in note for note in learner.notes_)
    assert any("'name' has another text in most rows" in note for note in learner.notes_)
    assert any("'id' numbers the rows" in note for note in learner.notes_)


def test_learners_of_tables_work_in_pipelines_and_searches(learner):
    from sklearn.inspection import permutation_importance
    from sklearn.model_selection import GridSearchCV

    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {name: rng.standard_normal(120) for name in "ab"} | {"t": ["x", "y", "z"] * 40}
    )
    y = frame["a"] * frame["b"]
    found = permutation_importance(learner, frame, y, n_repeats=2, random_state=0)
    assert found.importances_mean[:2].min() > 10 * abs(found.importances_mean[2])
    search = GridSearchCV(
        TableRegressor(FeatureRegressor(1, cv=2, members=["linear"])), {"max_levels": [2, 50]}, cv=2
    )
    search.fit(frame, frame["a"] + 0.01 * rng.standard_normal(120))
    assert search.best_score_ > 0.99
