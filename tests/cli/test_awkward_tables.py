"""Tables as they come: each is learned from, or refused in one line with exit code 2."""

import warnings
from functools import cache

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import gradone as gd
from gradone.cli import app
from gradone.learners import FeatureClassifier, FeatureRegressor, TableClassifier, TableRegressor

N = 60
_RNG = np.random.default_rng(0)
BASE = {"x": _RNG.standard_normal(N), "w": _RNG.standard_normal(N)}
BASE["y"] = BASE["x"] + BASE["w"] ** 2
FEW = {"max_directions": 1, "cv": 1, "n_landmarks": 20, "n_landmarks_final": 20, "random_state": 0}


def text_of(separator=",", **columns):
    columns = {"x": BASE["x"], "w": BASE["w"]} | columns
    columns.setdefault("y", BASE["y"])
    rows = zip(*(map(str, values) for values in columns.values()), strict=True)
    return "\n".join(separator.join(row) for row in [tuple(columns), *rows]) + "\n"


@cache
def wide():
    numbers = np.random.default_rng(1).integers(100, size=(N, 10_000))
    return text_of(**{f"c{j}": column for j, column in enumerate(numbers.T)})


# What is in the file, and what the dry run says about it.
LEARNED = {
    "mark of byte order": (lambda: b"\xef\xbb\xbf" + text_of().encode(), "columns: x (number)"),
    "quoted newlines": (
        lambda: text_of(t=['"a\nb"', '"c,""d"""'] * 30),
        "t (2 levels)",
    ),
    "ten thousand columns": (wide, "columns: 10002, 10002 of numbers"),
    "constant columns": (
        lambda: text_of(k=[1] * N, j=["a"] * N),
        "'k', 'j' have the same value in every row and were left out.",
    ),
    "dates": (lambda: text_of(d=[f"2024-{1 + i % 12}-03" for i in range(N)]), "d (date)"),
    "nullable integers": (
        lambda: text_of(i=["" if i % 9 == 0 else i % 13 for i in range(N)]),
        "Missing values were filled in: 'i' (7).",
    ),
    "semicolons": (lambda: text_of(";"), "60 rows, 2 features"),
    "huge numbers": (lambda: text_of(w=BASE["w"] * 1e300), "w (number)"),
    "tiny numbers": (lambda: text_of(w=BASE["w"] * 1e-300), "w (number)"),
    "blanks": (
        lambda: text_of(w=["  ", "NA", *BASE["w"][2:]], t=[" ", " a", "a ", "b"] * 15),
        "'w' (2), 't' (15)",
    ),
    "target missing in some rows": (
        lambda: text_of(y=["", *BASE["y"][1:]]),
        "1 row without a value of 'y' was left out.",
    ),
    "truth values": (lambda: text_of(b=["True", "False"] * 30), "b (2 levels)"),
    "an empty column": (lambda: text_of(e=[""] * N), "'e' is empty and was left out."),
    "ids in any order": (
        lambda: text_of(id=np.random.default_rng(0).permutation(N)),
        "'id' has another whole number in every row, as ids have.",
    ),
}
REFUSED = {
    "empty": (b"", "is empty: it needs a line of names and rows below it"),
    "only a header": (b"x,w,y\n", "has names but no rows"),
    "a single row": (b"x,w,y\n1,2,3\n", "has 1 row: at least 20 are needed"),
    "no line of names": (text_of().partition("\n")[2], "holds numbers, not names of columns"),
    "one class": (text_of(y=["a"] * N), "every row has the same value of 'y', a"),
    "duplicate names": (
        text_of().replace("x,w,y", "x,x,y"),
        "several columns with the name 'x': rename them",
    ),
    "a nameless column": (text_of().replace("x,w,y", "x,,y"), "column 2 of"),
    "mixed types": (
        text_of(t=["many" if i % 7 == 0 else i for i in range(N)]),
        "column 't' holds text ('many' in line 2 among 51 numbers",
    ),
    "Latin-1": (text_of(t=["Genève", "Bern"] * 30).encode("latin-1"), "is not text in UTF-8"),
    "UTF-16": (text_of().encode("utf-16"), "is not text in UTF-8"),
    "infinite values": (text_of(w=["inf", *BASE["w"][1:]]), "infinite values, the first in row 1"),
    "beyond the range": (text_of(w=["1e400", *BASE["w"][1:]]), "infinite values"),
    "a short row": (text_of() + "1,2\n", "line 62 of"),
    "an open quote": (text_of() + '"1,2,3\n', "cannot be read as CSV"),
    "days that are none": (text_of(d=["2024-13-01"] * N), "not every one can be read"),
    "target that is not there": (text_of().replace("x,w,y", "x,w,z"), "has no column 'y'."),
    "target missing everywhere": (text_of(y=[""] * N), "the target 'y' is empty"),
    "compressed": (b"\x1f\x8b\x08" + bytes(range(200)), "is not text in UTF-8"),
}


def dry_run(folder, content):
    path = folder / "table.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return path, CliRunner().invoke(app, ["fit", str(path), "--target", "y", "--dry-run"])


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=[pytest.mark.slow] if case == "ten thousand columns" else [])
        for case in LEARNED
    ],
)
def test_is_learned_from(tmp_path, case):
    content, said = LEARNED[case]
    path, done = dry_run(tmp_path, content())
    assert done.exit_code == 0, done.stderr
    assert said in done.stdout + done.stderr
    assert len(done.stdout.splitlines()) <= 24  # one screen
    if case != "target missing in some rows":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            learner = TableRegressor(FeatureRegressor(**FEW)).fit(path, BASE["y"])
        assert np.isfinite(learner.predict(path)).all()


@pytest.mark.parametrize("case", REFUSED)
def test_is_refused_in_one_line(tmp_path, case):
    content, said = REFUSED[case]
    done = dry_run(tmp_path, content)[1]
    assert done.exit_code == 2
    assert done.stderr.startswith("BadData: ")
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == 1


# ---- frames


def frame(**columns):
    return pd.DataFrame({"x": BASE["x"], "w": BASE["w"]} | columns)


FRAMES = {
    "nullable integers": frame(i=pd.array([None, *range(N - 1)], dtype="Int64")),
    "nullable truth values": frame(b=pd.array([None, *[True, False, True] * 19, True, True])),
    "categories": frame(t=pd.Categorical(["a", "b", None] * 20)),
    "moments": frame(d=pd.date_range("2024-01-01", periods=N, tz="Europe/Rome")),
    "objects": frame(t=["a", 1, None, 2.5] * 15),
    "blanks": frame(t=[" ", "a ", "NA", "b"] * 15),
    "numbers as texts": frame(t=[str(i) for i in range(N)]),
}


@pytest.mark.parametrize("case", FRAMES)
def test_frames_are_learned_from(case):
    learner = TableRegressor(FeatureRegressor(**FEW)).fit(FRAMES[case], BASE["y"])
    assert np.isfinite(learner.predict(FRAMES[case])).all()


def test_blanks_are_treated_alike_in_files_and_frames(tmp_path):
    texts = [" ", "a ", "NA", " b", "?", "null"] * 10
    path, y = tmp_path / "table.csv", BASE["y"]
    path.write_text(text_of(t=texts).replace("y", "z"), encoding="utf-8")
    new, noisy = frame(t=texts, z=y), y + np.arange(N) % 3
    of_file = TableRegressor(FeatureRegressor(**FEW)).fit(path, noisy)
    of_frame = TableRegressor(FeatureRegressor(**FEW)).fit(new, noisy)
    assert of_file.encoder_.features == of_frame.encoder_.features
    assert of_frame.encoder_.columns[2].levels == ("a", "b", "(missing)")
    np.testing.assert_array_equal(of_file.predict(path), of_frame.predict(new))


def test_frames_of_polars_with_categories_are_those_of_pandas():
    pl = pytest.importorskip("polars")
    texts = ["a", "b", None] * 20
    mine = pl.DataFrame(
        {"x": BASE["x"], "w": BASE["w"], "i": [None, *range(N - 1)], "t": texts},
        schema_overrides={"t": pl.Categorical, "i": pl.Int32},
    )
    theirs = frame(i=pd.array([None, *range(N - 1)], dtype="Int64"), t=pd.Categorical(texts))
    fits = [TableRegressor(FeatureRegressor(**FEW)).fit(f, BASE["y"]) for f in (mine, theirs)]
    np.testing.assert_array_equal(fits[0].predict(mine), fits[1].predict(theirs))


@pytest.mark.parametrize(
    ("X", "y", "said"),
    [
        (pd.DataFrame([[0.0, 1.0]] * N, columns=["x", "x"]), BASE["y"], "the name 'x'"),
        (frame(w=[np.inf, *BASE["w"][1:]]), BASE["y"], "infinite|infinity"),
        (frame().iloc[:0], [], "at least one"),
        (pd.DataFrame(index=range(N)), BASE["y"], "at least one"),
        (frame(), [*BASE["y"][1:], np.nan], "NaN|missing"),
    ],
    ids=["duplicate names", "infinite", "no rows", "no columns", "target missing"],
)
def test_frames_are_refused(X, y, said):
    with pytest.raises(gd.BadData, match=said):
        TableRegressor(FeatureRegressor(**FEW)).fit(X, y)


def test_one_class_and_a_level_that_is_neither_of_two():
    with pytest.raises(gd.BadData, match="class"):
        TableClassifier(FeatureClassifier(**FEW)).fit(frame(), ["a"] * N)
    levels = np.array(["no", "yes"] * 30)
    learner = TableRegressor(FeatureRegressor(**FEW, members=["linear"]))
    learner.fit(frame(t=levels), BASE["x"] + (levels == "yes"))
    new = frame()[:1]
    no, yes = (learner.predict(new.assign(t=level))[0] for level in ("no", "yes"))
    with pytest.warns(UserWarning, match="'t' has 'perhaps'"):
        other = learner.predict(new.assign(t="perhaps"))[0]
    np.testing.assert_allclose(other, (no + yes) / 2, rtol=1e-9)
    assert yes - no > 0.8
