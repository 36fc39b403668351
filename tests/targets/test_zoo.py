"""Every target of the zoo: it can be built, is cited, says what it shows; some closed forms."""

import math
import re
import subprocess
import sys

import numpy as np
import pytest

import gradone as gd
from gradone.base.references import references
from gradone.targets.hierarchical import HierarchicalTarget
from gradone.targets.zoo import Zoo, zoo

ENTRIES = zoo().entries


@pytest.fixture(params=list(ENTRIES.values()), ids=list(ENTRIES))
def entry(request):
    return request.param


def test_target_is_built_as_it_is_typed(entry):
    target = zoo(entry.name)
    assert isinstance(target, gd.Target | HierarchicalTarget)
    assert target.text == entry.formula
    assert target.noise == entry.noise
    assert type(target).__name__ == entry.kind


def test_repr_rebuilds_the_target(entry):
    namespace = {
        name: getattr(gd, name) for name in ("Target", "Sight", "Might", "Tree", "QuadraticForms")
    }
    rebuilt = eval(repr(entry.target), namespace)  # noqa: S307 - our own text
    assert rebuilt == entry.target


def test_target_gives_finite_labels(entry):
    sample = entry.target.sample(n=50, d=64, seed=1)
    assert np.isfinite(sample.y).all()
    assert np.ptp(sample.y) > 0


def test_name_is_plain(entry):
    assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", entry.name)


def test_claim_is_one_line(entry):
    assert 20 <= len(entry.shows) <= 90
    assert entry.shows == entry.shows.strip().rstrip(".")
    assert "\n" not in entry.shows


def test_references_are_known(entry):
    assert entry.cites
    assert [key for key in entry.cites if key not in references()] == []
    assert len(set(entry.cites)) == len(entry.cites)


def test_targets_are_distinct():
    """Would catch: one target under two names, which would make its citation ambiguous."""
    assert len({entry.target for entry in ENTRIES.values()}) == len(ENTRIES)


def test_target_is_found_by_equality(entry):
    assert zoo().find(entry.target) is entry
    assert zoo().find(entry.name) is entry


def test_what_is_not_in_the_zoo_is_not_found():
    assert zoo().find(gd.Target("z1 + 17*z2")) is None
    assert zoo().find("z1 + 17*z2") is None
    assert zoo().find(np.zeros(3)) is None


def test_zoo_is_a_mapping():
    assert isinstance(gd.zoo(), Zoo)
    assert len(gd.zoo()) == len(list(gd.zoo())) >= 80
    assert gd.zoo()["parity3"] == gd.zoo("parity3") == gd.Target("sign(z1*z2*z3)")
    assert "parity3" in gd.zoo()
    assert "no such" not in gd.zoo()
    assert gd.zoo().get("no such") is None
    assert dict(gd.zoo().items())["linear"] == gd.Target("z")


def test_unknown_name_is_a_clear_mistake():
    with pytest.raises(gd.BadData, match="named 'partiy3'. Did you mean 'parity3'"):
        gd.zoo("partiy3")


def test_a_name_typed_as_a_formula_is_called_a_name(entry):
    with pytest.raises(gd.TargetSyntaxError, match=re.escape(f'Write gd.zoo("{entry.name}"), or')):
        gd.Target(entry.name)


def test_a_name_with_underscores_is_recognized_by_the_verbs():
    with pytest.raises(gd.TargetSyntaxError) as caught:
        gd.analyze("phase_retrieval")
    assert str(caught.value) == (
        "'phase_retrieval' is not a formula but the name of a target of the zoo\n"
        'Write gd.zoo("phase-retrieval"), or its formula: z**2'
    )
    with pytest.raises(gd.TargetSyntaxError, match="unknown name 'parity' in the target"):
        gd.analyze("parity")


def test_zoo_prints_every_name_with_its_formula(entry):
    line = next(line for line in repr(zoo()).splitlines() if line.startswith(f"  {entry.name} "))
    assert entry.formula in line
    assert not entry.noise or f"(noise {entry.noise:g})" in line


def test_html_shows_the_claims():
    page = zoo()._repr_html_()
    assert page.count("<tr>") == len(ENTRIES) + len(zoo().sections())
    assert "64 -&gt; 16 -&gt; 4 -&gt; 1" in page


def test_listing_builds_nothing():
    code = "import sys, gradone as gd; repr(gd.zoo()); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert {"numpy", "gradone.targets.target"}.isdisjoint(run.stdout.split())


@pytest.mark.parametrize(
    ("name", "energies"),
    [
        ("half-space", {1: 2 / math.pi, 3: 1 / (3 * math.pi), 5: 3 / (20 * math.pi)}),
        ("parity2", {0: 0.0, 1: 0.0, 2: (2 / math.pi) ** 2, 3: 0.0}),
        ("parity3", {2: 0.0, 3: (2 / math.pi) ** 3}),
        ("he2-parity3", {1: 0.0, 2: 2.0, 3: (2 / math.pi) ** 3}),
        ("relu", {0: 1 / (2 * math.pi), 1: 0.25, 2: 1 / (4 * math.pi), 3: 0.0}),
        ("sin", {1: math.exp(-1), 3: math.exp(-1) / 6}),
        ("learning-table3", dict(enumerate([0, 1, 2, 2, 4, 0, 0, 48]))),
        ("quadratic2", {0: 9, 1: 5, 2: 19, 3: 0}),
        ("gaussian-weight3", {0: 0.25, 1: 0.5, 2: 0.5, 3: 0.0625}),
        ("degrees3", {0: 0, 1: 1, 2: 1, 3: 1, 4: 0}),
        ("preprocessed2", {1: 0, 2: 1 / 3, 3: 1 / 3, 4: 1 / 3}),
        ("he124-mean2", {1: 1 / 2, 2: 1 / 4, 3: 0, 4: 1 / 48}),
        ("weak-staircase2", {0: 1 / 4, 1: 17 / 4, 2: 1 / 2}),
        ("staircase2-unit", {1: 1 / 2, 2: 1}),
        ("hermite3-unit", {1: 0, 2: 0, 3: 1}),
        ("sign-committee2", {1: 4 / math.pi, 2: 0}),
    ],
)
def test_energies_are_closed_forms(name, energies):
    expansion = zoo(name).hermite(max(energies))
    for degree, value in energies.items():
        found = expansion.energy(degree)
        assert abs(found.value - value) <= found.error + 1e-14 * max(1, value), (degree, found)


@pytest.mark.parametrize(
    ("name", "widths"),
    [
        ("sight", (8, 1)),
        ("might3", (24, 3)),
        ("tree", (16, 4, 1)),
        ("tree-linear", (16, 4, 1)),
        ("tree-wide", (32, 8, 1)),
    ],
)
def test_widths_at_d_64_are_those_of_the_experiments(name, widths):
    assert zoo(name).widths(64) == widths


def test_upper_level_of_a_tree_has_unit_variance():
    for name in ("tree", "tree-linear", "tree-wide"):
        assert zoo(name).inner_variances == pytest.approx((1.0, 1.0), abs=1e-12)
