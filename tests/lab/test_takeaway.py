"""What is taken away from the page: files, reports, and scripts that make the numbers again."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gradone as gd
from gradone.lab.animation import plane_animation
from gradone.lab.answers import answer
from gradone.lab.streams import stream, trained

pytestmark = pytest.mark.slow

RACE: dict[str, Any] = {
    "target": "tanh(z)", "noise": 0.1, "d": 24, "seed": 3, "seeds": 2, "view": "samples",
    "algorithms": ["random_features", "sgd"], "top": 2.0, "axis": "alpha", "quantity": "test_mse",
}  # fmt: skip
TRAINING = {
    **RACE, "target": "z1 + z1*z2", "noise": None, "d": 64, "view": "time", "axis": "time",
    "algorithms": ["sgd", "extragradient"], "top": None, "quantity": "recovery",
}  # fmt: skip
DEEP = {
    **RACE, "target": "sight", "noise": None, "d": 16, "seeds": 1, "axis": "kappa", "top": None,
    "algorithms": ["dot_kernel_ridge"], "quantity": "excess_mse",
}  # fmt: skip

# Neither the lab nor its server may be needed, and a reader sees only public names. What a theory
# says of itself is no mistake of the script.
DRIVER = """
import json, sys, warnings
from gradone.theory import KnownBias
warnings.simplefilter("default", KnownBias)
sys.modules["fastapi"] = sys.modules["uvicorn"] = sys.modules["gradone.lab"] = None
room = {}
exec(compile(sys.stdin.read(), "script", "exec"), room)
room["json"] = json
print("\\n@@" + json.dumps(eval(sys.argv[1], room)))
"""


def made_again(script: bytes, numbers: str) -> Any:
    """Value of an expression after a script has run alone, in a process without the lab."""
    command = [sys.executable, "-W", "error", "-c", DRIVER, numbers]
    with tempfile.TemporaryDirectory() as folder:
        found = subprocess.run(
            command, input=script, capture_output=True, timeout=600, check=False, cwd=folder
        )
        assert found.returncode == 0, found.stderr.decode()[-2000:]
        is_picture = b".save(" in script  # and it is drawn
        assert is_picture == any(Path(folder).glob("*.pdf"))
    return json.loads(found.stdout.decode().rpartition("@@")[2])


def asked(question: str, **given: Any) -> Any:
    """Answer to a question of the page."""
    found = answer(question, given)
    assert "error" not in found, found
    return found


def points_of(events: Iterable[Any], source: str, quantity: str, seed: int) -> dict[float, float]:
    """Numbers that a page shows of a source."""
    found: dict[float, float] = {}
    for event in events:
        if event["kind"] == "curve" and (event["source"], event["seed"]) == (source, seed):
            for part in event["parts"]:
                if part["quantity"] == quantity and part["name"] in ("", "z1"):
                    found |= dict(zip(part["x"], part["y"], strict=True))
    assert found, f"the page shows nothing of {source}"
    return found


def test_the_script_of_a_verdict_makes_it_again() -> None:
    given: dict[str, Any] = {"target": "sign(z1*z2)", "noise": 0.25}
    shown = asked("analyze", **given)["analysis"]
    script = asked("draw verdict", suffix="py", **given)["content"]
    again = made_again(script, "json.loads(json.dumps(analysis.to_dict()))")
    assert again == json.loads(json.dumps(shown))


def test_the_script_of_a_plan_makes_it_again() -> None:
    given: dict[str, Any] = {"target": "he2-parity3", "noise": None}
    sizes = {"d": 300, "n": 2000, "width": 100}
    script = asked("draw plan", suffix="py", **given, **sizes)["content"]
    assert made_again(script, "plan.to_dict()") == json.loads(
        json.dumps(asked("plan with theory", **given, **sizes))  # what the page has in the end
    )


@pytest.mark.parametrize(
    ("target", "theory", "sliders", "numbers"),
    [
        (
            "tanh(z)",
            "random_features,giant_step",
            {"random_features.ridge": 0.5, "giant_step.step_size": 0.8},
            "[curves[n].test_mse.values.ravel().tolist() for n in curves]",
        ),
        (
            "He3(z)",
            "sgd,extragradient",
            {"overlap": 0.05},
            "[curves[n][q].values.ravel().tolist() for n in curves"
            " for q in ('test_mse', 'recovery')]",
        ),
        (
            "z1 + z1*z2",
            "giant_steps",
            {},
            "cosines.transpose('step', 'direction', 'batch_ratio').values.reshape(4, -1).tolist()",
        ),
        (
            "sight",
            "dot_kernel_ridge,two_layers,layerwise",
            {},
            "[curves[n].excess_mse.values.tolist() for n in curves]",
        ),
    ],
    ids=["samples", "time", "gradients", "depth"],
)
def test_scripts_of_predictions_make_the_curves_again(
    target: str, theory: str, sliders: dict[str, float], numbers: str
) -> None:
    given = {"target": target, "noise": None, "theory": theory, "top": 3.0, "sliders": sliders}
    shown = asked("predict", points=3, **given)["series"]
    script = asked("draw prediction", suffix="py", quantity="", points=3, **given)["content"]
    again = made_again(script, numbers)
    assert len(again) == len(shown)
    for one, values in zip(shown, again, strict=True):
        assert one["y"] == pytest.approx(values, rel=1e-9), one["name"]


def test_the_script_of_a_race_makes_its_points_again() -> None:
    events = list(stream(RACE))
    script = asked("draw run", suffix="py", parameters=RACE, events=events)["content"]
    numbers = (
        "[[{str(s): dict(zip(c.alpha.values.tolist(), c.test_mse.sel(source=s).values.tolist()))"
        " for s in c.source.values.tolist()}] for c in [theory, *simulation.values()]]"
    )
    theory, *runs = (one[0] for one in made_again(script, numbers))
    for source in ("theory:random_features", "theory:sgd"):
        shown = points_of(events, source, "test_mse", 0)
        again = {float(x): y for x, y in theory[source].items()}
        assert shown == pytest.approx({x: again[x] for x in shown}, rel=1e-9)
    for seed, run in zip((3, 4), runs, strict=True):
        shown = points_of(events, "simulation:random_features", "test_mse", seed)
        again = {float(x): y for x, y in run["simulation:random_features"].items()}
        assert shown == pytest.approx({x: again[x] for x in shown}, rel=1e-9)


def test_the_script_of_a_deep_race_makes_its_points_again() -> None:
    events = list(stream(DEEP))
    script = asked("draw run", suffix="py", parameters=DEEP, events=events)["content"]
    numbers = (
        "[dict(zip(c.kappa.values.tolist(), c.excess_mse.sel(source=s).values.tolist()))"
        " for c, s in ((theory, 'theory:dot_kernel_ridge'),"
        " (simulation[3], 'simulation:dot_kernel_ridge'))]"
    )
    sources = (("theory:dot_kernel_ridge", 0), ("simulation:dot_kernel_ridge", 3))
    for (source, seed), again in zip(sources, made_again(script, numbers), strict=True):
        shown = points_of(events, source, "excess_mse", seed)
        known = {float(x): y for x, y in again.items()}
        assert shown == pytest.approx({x: known[x] for x in shown}, rel=1e-9)
    assert not [event for event in events if event["kind"] == "absent"]


def test_the_script_of_a_training_makes_its_paths_again() -> None:
    events = list(stream(TRAINING))
    script = asked("draw run", suffix="py", parameters=TRAINING, events=events)["content"]
    numbers = (
        "[[c.recovery.squeeze().transpose(..., 'direction').values[:, 0].tolist(),"
        " c.time.values.tolist()] for c in"
        " [runs['sgd', 3], runs['sgd', 4], runs['extragradient', 4], flows['extragradient', 4]]]"
    )
    sources = [("simulation:sgd", 3), ("simulation:sgd", 4)]
    sources += [("simulation:extragradient", 4), ("theory:extragradient", 4)]
    for (source, seed), (values, times) in zip(sources, made_again(script, numbers), strict=True):
        shown = points_of(events, source, "recovery", seed)
        again = dict(zip(times, values, strict=True))
        assert shown == pytest.approx({x: again[x] for x in shown}, rel=1e-9)


def test_neurons_are_told_before_their_flows() -> None:
    """A page that waits for the theory does not move."""
    kinds = [event["source"].partition(":")[0] for event in stream(TRAINING) if "source" in event]
    assert kinds == ["simulation"] * 4 + ["theory"] * 4


def test_overlaps_and_the_rest_of_a_neuron_make_its_length() -> None:
    """At the start all neurons have length one and overlaps of 3/sqrt(d)."""
    event = next(one for one in stream(TRAINING) if one["kind"] == "curve")
    overlap, outside = (np.array(event["neurons"][key]) for key in ("overlap", "outside"))
    assert overlap.shape == (4, len(event["neurons"]["time"]), 2)
    length = (overlap**2).sum(-1) + outside**2
    assert length[:, 0] == pytest.approx(1.0, abs=0.15)
    assert np.abs(overlap[:, 0]) == pytest.approx(3 / 64**0.5, abs=0.1)


def test_the_table_of_energies_is_that_of_parseval() -> None:
    """E[He2^2] = 2; the degree-3 part of sign(z1 z2 z3) is (2/pi)^{3/2} z1 z2 z3."""
    given = {"target": "He2(z1) + sign(z1*z2*z3)", "noise": None}
    text = asked("draw verdict", suffix="csv", **given)["content"].decode()
    rows = list(csv.DictReader(line for line in io.StringIO(text) if not line.startswith("#")))
    energies = {row["x"]: float(row["y"]) for row in rows if row["x"] in ("2", "3", "2.0", "3.0")}
    assert sorted(energies.values()) == pytest.approx([(2 / np.pi) ** 3, 2.0])


def test_the_table_of_a_plan_has_its_rows() -> None:
    given: dict[str, Any] = {"target": "z1*z2", "noise": None, "d": 300, "n": 2000, "width": 100}
    text = asked("draw plan", suffix="csv", **given)["content"].decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    known = gd.plan("z1*z2", d=300, n=2000, width=100).rows
    assert [row["algorithm"] for row in rows] == [row.algorithm for row in known]
    assert [float(row["margin"]) for row in rows] == [row.margin for row in known]


@pytest.mark.parametrize("stop", [4, None], ids=["stopped", "done"])
def test_reports_show_what_a_run_has_found(stop: int | None) -> None:
    events = list(stream(RACE))[:stop]
    events.append({"kind": "end", "status": "stopped" if stop else "done", "message": ""})
    html = asked("draw run", suffix="html", parameters=RACE, events=events)["content"].decode()
    text = html.partition("</style>")[2]
    assert "random features" in text
    assert ("not complete" in text) is bool(stop)
    assert "gd.compare(" in text  # the script that makes it again
    assert "not finished within the budget" not in text  # nobody asked for other curves


def test_the_report_of_a_training_shows_its_neurons() -> None:
    events = list(stream({**TRAINING, "seeds": 1}))
    given = {"parameters": TRAINING, "events": events, "suffix": "html"}
    text = asked("draw run", **given)["content"].decode()
    assert "Paths of the neurons" in text
    assert "extra-gradient" in text
    assert "arXiv:2405.15459" in text


def test_a_run_without_numbers_says_so() -> None:
    for suffix in ("csv", "html"):
        given = {"suffix": suffix, "parameters": RACE, "events": [{"kind": "begin"}]}
        assert "nothing yet" in (found := answer("draw run", given)["error"]["message"]) or (
            "no numbers" in found
        )


def test_reports_need_nothing_else() -> None:
    given: dict[str, Any] = {"target": "z1*z2", "noise": None}
    curves = {"theory": "bayes_amp", "top": 2.0, "sliders": {}, "points": 2, "quantity": ""}
    for question, more in (
        ("draw verdict", {}),
        ("draw plan", {"d": 100, "n": 500, "width": 50}),
        ("draw prediction", curves),
    ):
        text = asked(question, suffix="html", **given, **more)["content"].decode()
        assert text.startswith("<!doctype html>")
        assert 'src="http' not in text
        assert "import gradone as gd" in text


def test_moving_neurons_can_be_taken_away() -> None:
    """Sixty different frames, the last of which ends where the training ends."""
    from PIL import Image

    events = list(stream(TRAINING))
    found = asked("draw run", suffix="gif", parameters=TRAINING, events=events)
    picture = Image.open(io.BytesIO(found["content"]))
    assert picture.n_frames == 60
    first = picture.convert("L").tobytes()
    picture.seek(59)
    assert picture.convert("L").tobytes() != first
    refused = answer("draw run", {"suffix": "gif", "parameters": RACE, "events": []})
    assert "no neurons" in refused["error"]["message"]


def test_the_script_of_a_race_has_its_inputs():
    from gradone.lab.scripts import run_script

    given = {
        "target": "z1*z2", "noise": None, "d": 40, "seed": 0, "seeds": 1, "view": "samples",
        "algorithms": ["random_features"], "top": 2.0, "axis": "alpha",
        "inputs": "rademacher", "directions": "axes",
    }  # fmt: skip
    line = next(one for one in run_script(given, []).splitlines() if one.startswith("target ="))
    assert line == "target = gd.Target('z1*z2').on('rademacher', 'axes')"


def test_a_race_on_other_inputs_leaves_out_what_does_not_cover_them():
    from gradone.lab.streams import line_ups

    given = {
        "target": "z1*z2", "noise": None, "d": 40, "seed": 0, "seeds": 1, "top": 2.0,
        "algorithms": ["random_features", "bayes_amp"],
        "inputs": "rademacher", "directions": "axes",
    }  # fmt: skip
    tasks, absent = line_ups(given)
    assert {name for name, _ in tasks} == {"theory:random_features", "simulation:random_features"}
    assert "coordinates of Rademacher inputs" in absent["theory:bayes_amp"]


def test_neurons_of_a_very_wide_network_move_with_the_particles_of_its_limit() -> None:
    """Both along the time of the flow; readouts of the first and second neuron are 1 and -1."""
    given = {"target": "z1 + z1*z2", "noise": 0.0, "algorithms": ["mean_field"], "d": 100}
    events = [e for e in trained({**given, "seed": 0, "seeds": 1}) if e["kind"] == "curve"]
    assert [event["source"] for event in events] == ["simulation:mean_field", "theory:mean_field"]
    ends = [np.array(event["neurons"]["overlap"])[:, -1] for event in events]
    assert ends[0].shape == ends[1].shape == (32, 2)
    assert events[0]["neurons"]["time"] == events[1]["neurons"]["time"]
    assert np.abs(ends[0]).mean(axis=0) == pytest.approx(np.abs(ends[1]).mean(axis=0), rel=0.2)
    assert plane_animation(given, events).startswith(b"GIF")
