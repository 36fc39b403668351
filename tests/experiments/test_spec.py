"""Specs of experiments: what they accept, and that all that is wrong is said at once."""

import json
import math

import numpy as np
import pytest

import gradone as gd
from gradone.experiments.spec_defects import BadSpec
from gradone.experiments.spec_text import parse_toml

SPEC = {
    "name": "e",
    "targets": ["sign(z1*z2)", {"text": "z1", "noise": 0.1}],
    "algorithms": [{"learner": "giant_step", "width": 10}, {"theory": "lazy"}],
    "grid": {"d": [20, 40], "alpha": [1.0, 2.0]},
    "replicates": 3,
    "metrics": ["test_mse"],
    "sizes": {"paper": {"replicates": 8, "grid": {"kappa": 1.5}}},
}
BAD = """\
name = "bad"
replicates = -2
metricss = ["test_mse"]
metrics = ["test_mse", "tset_mse"]
targets = [
    "sgn(z1*z2)",
    { text = "z1", nois = 0.1 },
    { text = "z1", noise = -1 },
    { kind = "Sight", outer = "h" },
    "partiy2",
]

[grid]
d = [100, -5]   # a negative size
n = [200]
alpha = []
wdith = 3

[[algorithms]]
learner = "giant_step"
widht = 100
ridge = -1.0

[[algorithms]]
learner = "gaint_step"

[[algorithms]]
theory = "random_features"

[[algorithms]]
learner = "sgd"

[sizes.papr]
replicates = 3

[sizes.small]
replicate = 3
grid = { d = 1.5 }
"""
DEFECTS = {  # line: words that the message must hold
    2: ["replicates must be an integer >= 1, got -2"],
    3: ["unknown key 'metricss'", "Did you mean 'metrics'?"],
    4: ["'tset_mse'", "Did you mean 'test_mse'?"],
    6: ["unknown function 'sgn' in the target, column 1", "Did you mean 'sign'?"],
    7: ["no 'nois'", "Did you mean 'noise'?"],
    8: ["a finite number >= 0, got -1"],
    9: ["a Sight needs 'inner'"],
    10: ["'partiy2'", "Did you mean 'parity2'?"],
    14: ["grid.d[1]: d must be an integer >= 1, got -5"],
    16: ["alpha is an empty list", "n and alpha say the same in two ways"],
    17: ["'wdith'", "Did you mean 'width'?"],
    21: ["'giant_step' has no parameter 'widht'", "Did you mean 'width'?"],
    22: ["ridge must be a finite number >= 0, got -1.0"],
    25: ["unknown learner 'gaint_step'", "Did you mean 'giant_step'?"],
    27: ["'random_features' needs width or width_ratio", "'random_features' needs ridge"],
    31: ["unknown learner 'sgd'", 'write engine = "sgd"'],
    33: ["a size is small or paper. Did you mean 'paper'?"],
    37: ["unknown key 'replicate'", "Did you mean 'replicates'?"],
    38: ["d must be an integer >= 1, got 1.5"],
}


def experiment(**changes):
    return gd.Experiment(**{**SPEC, **changes})


def defects(**changes):
    with pytest.raises(BadSpec) as caught:
        experiment(**changes)
    return [defect.message for defect in caught.value.defects]


def test_all_defects_are_listed_with_their_lines(tmp_path):
    path = tmp_path / "bad.toml"
    path.write_text(BAD)
    with pytest.raises(gd.BadData) as caught:
        gd.Experiment.read(path)
    text = str(caught.value)
    by_line = {}
    for part in text.split("\n  line ")[1:]:
        number, _, rest = part.partition(",")
        by_line.setdefault(int(number), []).append(rest)
    assert set(by_line) == set(DEFECTS)
    for line, words in DEFECTS.items():
        for word in words:
            assert word in " ".join(by_line[line]), (line, word)
    assert text.startswith(f"{sum(map(len, by_line.values()))} things are wrong with bad.toml:")


def test_the_same_defects_have_their_lines_in_json(tmp_path):
    content, _ = parse_toml(BAD)
    text = json.dumps(content, indent=1)
    path = tmp_path / "bad.json"
    path.write_text(text)
    with pytest.raises(BadSpec) as caught:
        gd.Experiment.read(path)
    lines = text.splitlines()
    for part in str(caught.value).split("\n  line ")[1:]:
        number, _, rest = part.partition(", ")
        where = rest.partition(":")[0]
        last = where.rpartition(".")[2].partition("[")[0]
        shown = lines[int(number) - 1]
        if not where.endswith("]"):
            assert f'"{last}"' in shown
    assert "-5" in lines[int(str(caught.value).partition(", grid.d[1]")[0].split()[-1]) - 1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": ""}, "name is empty"),
        ({"targets": []}, "targets is empty"),
        ({"algorithms": []}, "algorithms is empty"),
        ({"seed": 1.5}, "seed must be an integer >= 0, got 1.5"),
        ({"seed": True}, "seed must be an integer >= 0, got True"),
        ({"grid": 3}, "grid must be a table, got 3"),
        ({"metrics": "test_mse"}, "metrics must be a list, got 'test_mse'"),
        ({"metrics": []}, "this list is empty: leave it out"),
        ({"targets": [7]}, "a target is a text or a table"),
        ({"targets": ["z1", "z1"]}, "the same as targets[0]"),
        ({"targets": [{"text": "z1", "zoo": "parity2"}]}, "a target needs one of text"),
        ({"targets": [{"zoo": "z1*z2"}]}, "no target of the zoo is named 'z1*z2'"),
        ({"targets": [{"kind": "Might"}]}, "a Might needs 'outer'"),
        (
            {"algorithms": [{"learner": "a", "theory": "b"}]},
            "one of algorithm, learner, engine, theory, got",
        ),
        ({"algorithms": [{"leaner": "a"}]}, "Did you mean 'learner'?"),
        ({"algorithms": [{"learner": 3}]}, "the name of a learner is a text, got 3"),
        ({"algorithms": [{"engine": "sgd", "seed": 3}]}, "'sgd' has no parameter 'seed'"),
        ({"algorithms": ["giant_step"]}, "algorithms[0] must be a table"),
        ({"grid": {"alpha": 1}}, "'giant_step' needs d"),
        ({"grid": {"d": 10}}, "'giant_step' needs n or alpha or kappa"),
        ({"grid": {"d": 10, "alpha": 0.01}}, "alpha = 0.01 gives no samples in d = 10"),
        ({"grid": {"d": [10, 10.0], "n": 5}}, "d holds 10 twice"),
        ({"grid": {"d": "10", "n": 5}}, "d must be an integer >= 1, got '10'"),
        ({"grid": {"d": 10, "n": math.nan}}, "n must be a number, got nan"),
        ({"grid": {"d": 10, "alpha": -1.0}}, "alpha must be a finite number > 0, got -1.0"),
        ({"grid": {"d": 10, "n": 5, "width": 3, "width_ratio": 1}}, "width and width_ratio say"),
        ({"grid": {"d": 10, "n": 5, "dd": 3}}, "no algorithm of this spec has a parameter 'dd'"),
        ({"sizes": {"small": 3}}, "sizes.small must be a table, got 3"),
        ({"sizes": {"small": {"grid": {"d": []}}}}, "d is an empty list"),
    ],
)
def test_a_defect_is_said(changes, message):
    assert any(message in found for found in defects(**changes)), defects(**changes)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('name = "a"\nname = "b"\nx = 1', "not TOML.*line 2"),
        ("name = \n", "not TOML.*line 1"),
    ],
)
def test_text_that_is_not_toml(text, message):
    with pytest.raises(gd.BadData, match=message):
        gd.Experiment.from_toml(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"name": "a",\n "name": "b"}', "the key 'name' stands twice"),
        ('{"name": "a",\n }', "not JSON.*line 2"),
        ("[1]", "a JSON object"),
    ],
)
def test_text_that_is_not_a_json_object(text, message):
    with pytest.raises(gd.BadData, match=message):
        gd.Experiment.from_json(text)


def test_a_file_of_another_kind(tmp_path):
    with pytest.raises(gd.BadData, match=r"a spec is a file .toml or .json, got 'a.yaml'"):
        gd.Experiment.read(tmp_path / "a.yaml")
    with pytest.raises(gd.BadData, match="cannot be read"):
        gd.Experiment.read(tmp_path / "a.toml")


def test_lines_of_every_kind_of_toml():
    """Would catch: strings with marks of the syntax, dotted keys, lists of tables, comments."""
    text = '''a = "x = [ # ]"   # {
b = [   # first
  'it''s',
  { c = 1, "d.e" = [2, 3] },
]
f.g = 1
[[h]]
i = """
j = 1
"""
[[h]]
k = [[1,
      2]]
[h.l]
m = 1
'''.replace("'it''s'", "'its'")
    content, lines = parse_toml(text)
    assert content["h"][1]["l"] == {"m": 1}
    expected = {
        ("a",): 1, ("b",): 2, ("b", 0): 3, ("b", 1): 4, ("b", 1, "c"): 4, ("b", 1, "d.e", 1): 4,
        ("f",): 6, ("f", "g"): 6, ("h", 0): 7, ("h", 0, "i"): 8, ("h", 1): 11, ("h", 1, "k"): 12,
        ("h", 1, "k", 0, 1): 13, ("h", 1, "l"): 14, ("h", 1, "l", "m"): 15,
    }  # fmt: skip
    assert {where: lines[where] for where in expected} == expected
    assert not any("j" in where for where in lines)


def test_toml_json_and_python_give_the_same_experiment(tmp_path):
    toml = tmp_path / "e.toml"
    toml.write_text("""
name = "e"
targets = ["sign(z1*z2)", { text = "z1", noise = 0.1 }]
replicates = 3
metrics = ["test_mse"]
algorithms = [{ learner = "giant_step", width = 10 }, { theory = "lazy" }]
grid = { d = [20, 40], alpha = [1.0, 2.0] }
sizes.paper = { replicates = 8, grid = { kappa = 1.5 } }
""")
    first, second = gd.Experiment.read(toml), experiment()
    assert first == second
    assert gd.Experiment.from_json(first.to_json()) == first
    arrays = experiment(grid={"d": np.array([20, 40]), "alpha": (1.0, np.float64(2.0))})
    assert arrays == first
    keys = [cell.key for cell in first.cells()]
    assert [cell.key for cell in arrays.cells()] == keys


def test_json_keeps_what_toml_and_json_do_not_have():
    given = experiment(
        targets=[gd.Sight(outer="tanh(h)", inner="He2(z)", exponent=0.5)],
        algorithms=[{"theory": "lazy", "width": math.inf}, {"learner": "giant_step"}],
        grid={"d": 64, "n": 100, "ridge": None},
    )
    again = gd.Experiment.from_json(given.to_json())
    assert again == given
    assert [cell.key for cell in again.cells()] == [cell.key for cell in given.cells()]


def test_sizes_replace_parts():
    paper = experiment().sized("paper")
    assert (paper.replicates, paper.grid) == (8, {"d": [20, 40], "kappa": 1.5})
    assert experiment().sized(None) == experiment()
    with pytest.raises(gd.BadData, match="'e' has no size 'papr'. It has paper. Did you mean"):
        experiment().sized("papr")
    with pytest.raises(gd.BadData, match="It has none: leave the size out"):
        experiment(sizes={}).sized("paper")


def test_an_experiment_does_not_change():
    with pytest.raises(ValueError, match="frozen"):
        experiment().name = "other"


def test_a_changed_copy_is_a_new_experiment():
    """Would catch: cells that are remembered from the original; changes that are not checked."""
    original = experiment()
    count = len(original.cells())
    assert len(original.model_copy(update={"replicates": 6}).cells()) > count
    with pytest.raises(BadSpec, match="replicates must be an integer >= 1, got 0"):
        original.model_copy(update={"replicates": 0})
