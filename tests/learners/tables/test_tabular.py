"""Tables of files: what is read, what is refused, and what becomes of it."""

import sys
import types

import numpy as np
import pandas as pd
import pytest

import gradone as gd
from gradone.learners.tables.tabular import TableModel, encoder_of, read_table
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


def test_columns_of_parquet_are_taken_by_their_types(written, monkeypatch):
    """With a stand-in for pyarrow, which need not be installed."""

    class Column(list):
        def __init__(self, kind, values):
            super().__init__(values)
            self.type = kind

        def to_pylist(self):
            return list(self)

        def drop_null(self):
            return [value for value in self if value is not None]

    class Stored(dict):
        column_names = property(list)
        column = dict.__getitem__

    stored = Stored(
        a=Column("floating", [1.5, None]),
        b=Column("text", ["x", None]),
        c=Column("temporal", ["2024-01-01", None]),
    )
    kinds = {f"is_{k}": lambda t, k=k: t == k for k in ("temporal", "floating", "integer")}
    modules = {
        "pyarrow": {},
        "pyarrow.parquet": {"read_table": lambda path: stored},
        "pyarrow.types": kinds,
    }
    for name, contents in modules.items():
        module = types.ModuleType(name)
        vars(module).update(contents)
        monkeypatch.setitem(sys.modules, name, module)
    table = read_table(written("", name="table.parquet"))
    assert [column.kind for column in table.columns.values()] == ["number", "category", "date"]
    np.testing.assert_array_equal(table["a"].numbers, [1.5, np.nan])
    np.testing.assert_array_equal(table["b"].codes, [0, -1])


def test_levels_become_columns_of_zeros_and_ones():
    table = table_of({"n": [1, 2, 3], "two": ["m", "f", "m"], "three": ["a", "c", "b"]})
    encoder = encoder_of(table)
    assert encoder.features == ("n", "two=m", "three=a", "three=b", "three=c")
    expected = [[1, 1, 1, 0, 0], [2, 0, 0, 0, 1], [3, 1, 0, 1, 0]]
    np.testing.assert_array_equal(encoder(table), expected)


def test_missing_values_are_refused_or_filled():
    table = table_of({"n": [1.0, np.nan, 5.0, 2.0], "t": ["a", None, "b", "a"]})
    with pytest.raises(gd.BadData, match="'n' has 1 missing value in 4 rows") as refused:
        encoder_of(table)
    assert "column 't' has 1 missing value" in str(refused.value)  # all problems at once
    encoder = encoder_of(table, impute=True)
    assert encoder.features == ("n", "t=a", "t=b", "t=(missing)")
    np.testing.assert_array_equal(encoder(table)[1], [2.0, 0, 0, 1])


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (["2024-01-31"] * 30, r"holds dates \('2024-01-31' in line 2\).*--drop x"),
        (["31.12.2023 10:30"] * 30, "holds dates"),
        ([f"name {i}" for i in range(60)], "holds text .*60 different texts, at most 50"),
        ([str(i) for i in range(60)] + ["many"], r"'many' in line 62 among 60 numbers"),
        ([""] * 5, "is empty"),
    ],
    ids=["dates", "times", "names", "a word among numbers", "empty"],
)
def test_columns_that_are_no_features_are_refused(written, cells, message):
    path = written("x,y\n" + "".join(f"{cell},1\n" for cell in cells))
    with pytest.raises(gd.BadData, match=message):
        encoder_of(read_table(path).without("y"))


class _Sum:
    def predict(self, X):
        return X.sum(axis=1)


def test_new_rows_come_from_files_frames_and_dictionaries(written):
    old = table_of({"a": [1, 2, 3], "t": ["x", "y", "z"]})
    model = TableModel(encoder_of(old), _Sum(), "y")
    new = {"t": ["z", "x"], "more": [0, 0], "a": [10, 20]}
    expected = [11, 21]
    np.testing.assert_array_equal(model.predict(new), expected)
    np.testing.assert_array_equal(model.predict(pd.DataFrame(new)), expected)
    path = written("t,more,a\nz,0,10\nx,0,20\n")
    np.testing.assert_array_equal(model.predict(path), expected)
    np.testing.assert_array_equal(model.predict(str(path)), expected)


@pytest.mark.parametrize(
    ("new", "message"),
    [
        ({"a": [1]}, "no column 't'"),
        ({"a": ["one"], "t": ["x"]}, "'a' must hold numbers"),
        ({"a": [1], "t": ["w"]}, "'t' has 'w', which the table .* did not have. Known: 'x', 'y'"),
        ({"a": [np.nan], "t": ["x"]}, "'a' has 1 missing value"),
        ({"a": [1], "t": [None]}, "'t' has 1 missing value"),
        ([1, 2], "a table is a file, a data frame or columns by name"),
    ],
)
def test_rows_of_another_kind_are_refused(new, message):
    old = table_of({"a": [1, 2], "t": ["x", "y"]})
    with pytest.raises(gd.BadData, match=message):
        TableModel(encoder_of(old), _Sum(), "y").predict(new)
