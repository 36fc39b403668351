"""``gradone fit`` on tables that are written here, as a user runs it."""

import csv
import json
import re
import shutil
import subprocess
import sys

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris, make_friedman1
from typer.testing import CliRunner

import gradone as gd
from gradone.cli import app

RNG = np.random.default_rng(0)
COMMAND = [sys.executable, "-c", "from gradone.cli import main; main()", "fit"]


def written(path, **columns):
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


def noisy(n=60, **more):
    x, w = RNG.standard_normal((2, n)).round(6)
    return {"x": x, "w": w, "y": (x + 0.1 * w**2).round(6)} | more


def run(*arguments):
    return CliRunner().invoke(app, ["fit", *map(str, arguments)])


# ---- a fit, in a process of its own


@pytest.fixture(scope="module")
def flowers(tmp_path_factory):
    """Iris with a text column, a constant one and a copy; two folds, no learning curve."""
    folder = tmp_path_factory.mktemp("flowers")
    X, which = load_iris(return_X_y=True)
    names = ["sepal length", "sepal width", "petal length", "petal width"]
    columns = dict(zip(names, X.T, strict=True))
    columns["color"] = np.array(["blue", "violet", "white"])[np.arange(150) % 3]
    columns["petal width, mm"] = 10 * X[:, 3]
    columns["garden"] = np.ones(150)
    columns["species"] = load_iris().target_names[which]
    path = written(folder / "iris.csv", **columns)
    command = [*COMMAND, path.name, "--target", "species", "--folds", "2", "--no-curve"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return folder, done


def test_flowers_are_told_apart(flowers):
    folder, done = flowers
    assert "iris.csv: 150 rows, 7 features, 'species' is 3 classes" in done.stdout
    assert "'petal width, mm' repeats 'petal width' (up to scale) and was left out" in done.stdout
    assert "'garden' has the same value in every row and was left out" in done.stdout
    assert "direction 1: petal" in done.stdout
    found = json.loads((folder / "iris-fit" / "results.json").read_text())
    assert found["task"] == "classification"
    assert found["scores"]["gradone"]["mean"] > 0.93
    assert set(found["scores"]) == {
        "gradone", "logistic", "kernel", "boosting", "network", "majority"
    }  # fmt: skip
    assert found["scores"]["majority"]["mean"] == pytest.approx(1 / 3)
    assert {len(score["folds"]) for score in found["scores"].values()} == {2}
    assert not any(score["failure"] for score in found["scores"].values())
    for direction in found["directions"]:
        assert sum(v**2 for v in direction["loadings"].values()) == pytest.approx(1)


def test_the_saved_model_reads_the_file_it_came_from(flowers):
    folder, _ = flowers
    model = gd.learners.load_model(folder / "iris-fit" / "model.npz")
    found = model.predict(folder / "iris.csv")
    assert np.mean(found == load_iris().target_names[load_iris().target]) > 0.95
    assert model.predict_proba(folder / "iris.csv").shape == (150, 3)
    assert type(model).__name__ == "TableClassifier"
    features = model.loadings()["feature"].values.tolist()
    assert features[:2] == ["sepal length", "sepal width"]
    assert features[4:] == ["color=blue", "color=violet", "color=white"]


def test_the_report_stands_alone(flowers):
    folder, _ = flowers
    page = (folder / "iris-fit" / "report.html").read_text()
    assert "What predicts species" in page
    assert "gradone fit iris.csv --target species --folds 2 --seed 0 --no-curve" in page
    for part in (
        "Comparison",
        "Directions",
        "Use the model, make the report again",
        "true class, predicted as",
    ):
        assert part in page
    assert "<script" not in page
    assert not any(f'{key}="http' in page for key in ("src", "href"))


def test_json_has_every_number_and_the_warnings(tmp_path, monkeypatch):
    """With ridge regression alone as the learner, which is quick."""
    monkeypatch.setattr(
        "gradone.report.table.fit.learner_of",
        lambda task, seed: gd.learners.FeatureRegressor(
            members=["linear"], cv=2, random_state=seed
        ),
    )
    columns = noisy(80)
    columns["leak"] = columns["y"] + 1
    path = written(tmp_path / "table.csv", **columns)
    done = run(path, "--target", "y", "--json", "--folds", "2", "--out", tmp_path / "new" / "out")
    found = json.loads(done.stdout)
    assert found["scores"]["gradone"]["mean"] > 0.999
    assert found["learning_curve"]["rows"] == [20, 40]
    assert found["warnings"][0].startswith("'leak' alone determines 'y' without error (R² = 1)")
    assert found["files"]["report"] == str(tmp_path / "new" / "out" / "report.html")
    page = (tmp_path / "new" / "out" / "report.html").read_text()
    assert "Warnings" in page
    assert "leak&#x27; alone determines &#x27;y&#x27;" in page
    kept = json.loads((tmp_path / "new" / "out" / "results.json").read_text())
    assert {key: value for key, value in found.items() if key != "files"} == kept


# ---- before a fit


def test_a_dry_run_says_what_it_costs(tmp_path):
    X, y = make_friedman1(500, n_features=10, random_state=0)
    columns = {f"x{i}": X[:, i] for i in range(10)}
    columns["shape"] = np.array(["round", "square", "flat"])[np.arange(500) % 3]
    path = written(tmp_path / "friedman.csv", **columns, y=y)
    told = run(path, "--target", "y", "--dry-run").stdout
    assert "friedman.csv: 500 rows, 13 features, 'y' is a number" in told
    assert "x9 (number), shape (3 levels)" in told
    assert "expected with 5 folds: about" in told
    assert "CPU time" in told
    assert "MB of memory" in told
    small = json.loads(run(path, "--target", "y", "--dry-run", "--json").stdout)
    assert (small["rows"], small["features"], small["folds"]) == (500, 13, 5)
    quick = json.loads(run(path, "--target", "y", "--dry-run", "--json", "--no-curve").stdout)
    assert quick["cpu_seconds"] < small["cpu_seconds"]
    assert list(tmp_path.iterdir()) == [path]


def test_a_mistake_is_one_message_and_exit_code_2(tmp_path):
    path = written(tmp_path / "table.csv", **noisy())
    command = [*COMMAND, str(path), "--target", "z"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith("BadData: ")
    assert "has no column 'z'." in done.stderr
    assert "Its columns: 'x', 'w', 'y'." in done.stderr
    assert "Traceback" not in done.stderr


MISTAKES = {
    "few rows": ({n: v[:19] for n, v in noisy().items()}, "has 19 rows: at least 20 are needed"),
    "constant target": (noisy(y=np.ones(60)), "every row has the same value of 'y', 1.0"),
    "one class": (noisy(y=["a"] * 60), "'y', a: there is nothing to learn. At least two classes"),
    "lonely class": (noisy(y=["a"] * 30 + ["b"] * 29 + ["c"]), "at least two rows; .* one of 'c'"),
    "infinite": (
        noisy(w=[np.inf, *range(59)]),
        "'w' of .* has infinite values, the first in row 1",
    ),
    "missing target": (noisy(y=[""] * 60), "target 'y' is empty"),
    "dates": (noisy(w=["03/04/2024"] * 60), "'w' holds dates .* which number is the day"),
    "a word": (noisy(w=["many", *range(59)]), "'w' holds text .* among 59 numbers"),
    "text target": (noisy(y=[f"n{i}" for i in range(60)]), "too many different ones to be classes"),
    "date target": (noisy(y=["2024-01-31"] * 60), "target 'y' holds dates"),
    "all constant": (noisy(x=np.ones(60), w=np.zeros(60)), "no feature is left"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_tables_that_cannot_be_learned_are_refused(tmp_path, mistake):
    columns, message = MISTAKES[mistake]
    done = run(written(tmp_path / "table.csv", **columns), "--target", "y")
    assert done.exit_code == 2
    assert done.stderr.startswith("BadData: ")
    assert re.search(message, done.stderr, re.DOTALL)


def test_wrong_options_are_refused(tmp_path):
    path = written(tmp_path / "table.csv", **noisy())
    for options, message in [
        (["--folds", "1"], "--folds must be between 2 and half of the 60 rows, got 1"),
        (["--drop", "ww"], "has no column 'ww'. Did you mean 'w'?"),
        (["--drop", "y"], "'y' is the target and cannot be left out"),
    ]:
        done = run(path, "--target", "y", *options)
        assert (done.exit_code, message in done.stderr) == (2, True), options
    text = written(tmp_path / "text.csv", **noisy(y=["a", "b"] * 30))
    done = run(text, "--target", "y", "--task", "regression")
    assert done.exit_code == 2
    assert "--task regression needs numbers" in done.stderr


def test_what_does_not_fit_in_memory_is_refused_before_it_is_tried(tmp_path, monkeypatch):
    monkeypatch.setattr("gradone.base.memory.available_memory", lambda: 10**8)
    done = run(written(tmp_path / "table.csv", **noisy()), "--target", "y")
    assert done.exit_code == 2
    assert "TooLarge: a fit to 60 rows of 2 features needs" in done.stderr
    assert "--drop" in done.stderr


def test_what_a_long_fit_costs_is_said_before_it_begins(tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise gd.BadData("the fit has begun")

    monkeypatch.setattr("gradone.report.table.fit_prepared", interrupted)
    for rows, told in ((60, False), (8000, True)):
        done = run(written(tmp_path / "table.csv", **noisy(rows)), "--target", "y")
        assert "the fit has begun" in done.stderr
        assert ("of CPU time" in done.stdout) == told


def test_many_columns_with_missing_values_have_one_sentence(tmp_path):
    columns = {f"c{k}": ["", *RNG.standard_normal(59)] for k in range(27)}
    done = run(written(tmp_path / "table.csv", **noisy(**columns)), "--target", "y", "--dry-run")
    (sentence,) = [line for line in done.stdout.splitlines() if "Missing values" in line]
    assert "'c0' (1)" in sentence
    assert "and 22 more columns" in sentence
    assert len(done.stdout.splitlines()) < 24


def test_a_leak_is_a_warning(tmp_path):
    """One column that is the target in another unit, one that is a monotone function of it."""
    columns = noisy()
    columns |= {"euros": 0.93 * columns["y"] + 2, "scale": np.exp(columns["y"])}
    done = run(written(tmp_path / "table.csv", **columns), "--target", "y", "--dry-run")
    assert done.exit_code == 0
    assert "Warning: 'euros', 'scale' alone determine 'y' without error (R² = 1)" in done.stderr
    assert '--drop "euros"' in done.stderr


def test_a_leaked_class_is_a_warning(tmp_path):
    """By number, and by one of several words for each class; a word for two classes is no leak."""
    which = np.arange(60) % 3
    columns = noisy(y=np.array(["a", "b", "c"])[which], code=which * 7 + 1)
    columns["word"] = np.array(["p", "q", "r", "s", "t", "u"])[np.arange(60) % 6]
    columns["half"] = np.array(["k", "k", "l"])[which]
    done = run(written(tmp_path / "table.csv", **columns), "--target", "y", "--dry-run")
    assert "Warning: 'code', 'word' alone determine 'y' without error" in done.stderr


# ---- whole reports


@pytest.mark.slow
@pytest.mark.parametrize("name", ["diabetes", "friedman"])
def test_reports_of_numbers(tmp_path, name):
    """No worse than ridge by more than 0.02, with the learning curve and its prediction."""
    if name == "diabetes":
        X, y = load_diabetes(return_X_y=True)
    else:
        X, y = make_friedman1(600, n_features=8, noise=1.0, random_state=0)
    path = written(tmp_path / f"{name}.csv", **{f"x{i}": c for i, c in enumerate(X.T)}, y=y)
    command = [*COMMAND, str(path), "--target", "y", "--folds", "3", "--out", str(tmp_path / "out")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    found = json.loads((tmp_path / "out" / "results.json").read_text())
    assert found["gain"]["ridge"][0] > (-0.02 if name == "diabetes" else 0.15)
    curve = found["learning_curve"]
    linear, predicted = curve["scores"]["linear"], curve["predicted"]
    at_the_end = np.mean(linear[-1]), predicted["scores"][-1]
    assert abs(at_the_end[0] - at_the_end[1]) < 0.1
    assert "Gaussian" in predicted["remark"]
    model = gd.learners.load_model(tmp_path / "out" / "model.npz")
    assert np.corrcoef(model.predict(path), y)[0, 1] > 0.7


@pytest.mark.slow
def test_the_report_opens_in_a_browser_without_a_request(flowers):
    playwright = pytest.importorskip("playwright.sync_api")
    folder, _ = flowers
    page_file = folder / "iris-fit" / "report.html"
    assert page_file.stat().st_size < 6e6
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("needs Chromium")
    with playwright.sync_playwright() as browsers:
        options = ["--no-sandbox", "--disable-gpu"]
        browser = browsers.chromium.launch(executable_path=chromium, args=options)
        page = browser.new_page()
        asked, errors = [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: errors.append(message.text))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(page_file.as_uri())
        pictures = page.evaluate("[...document.querySelectorAll('svg')].map(s => s.clientWidth)")
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        browser.close()
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
    assert errors == []
    assert len(pictures) >= 2
    assert min(pictures) > 200
    assert wide <= 0
