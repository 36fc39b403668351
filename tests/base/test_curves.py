"""Theory and simulation give the same kind of labeled result."""

import numpy as np
import pytest
import xarray as xr

from gradone.base.curves import check_curve, curve
from gradone.base.errors import BadData


def sound(**changes):
    values = {"overlap": ("alpha", [0.1, 0.2]), "overlap_err": ("alpha", [0.0, 0.0])} | changes
    return curve(values, {"alpha": [1.0, 2.0]}, source="theory:test", target="z1", seed=0)


def test_a_sound_curve_passes_and_knows_its_origin():
    dataset = sound(converged=("alpha", [True, False]))
    check_curve(dataset)
    assert dataset.attrs["source"] == "theory:test"
    assert dataset["converged"].dtype == bool
    assert dataset["overlap"].dtype == np.float64


def test_every_defect_is_named_at_once():
    broken = xr.Dataset(
        {"q": (("alpha", "beta"), np.zeros((2, 1), dtype=np.float32))}, {"alpha": [1, 2]}
    )
    with pytest.raises(BadData) as caught:
        check_curve(broken)
    text = str(caught.value)
    for defect in (
        "'beta' is not in the vocabulary",
        "'q' has no 'q_err'",
        "not float64",
        "'beta' has no coordinate",
        "attribute 'source' is missing",
    ):
        assert defect in text


@pytest.mark.parametrize(
    ("changes", "defect"),
    [
        ({"overlap_err": ("alpha", [-1.0, 0.0])}, "negative"),
        ({"ghost_err": ("alpha", [0.0, 0.0])}, "does not exist"),
        ({"converged": ("alpha", [1.0, 0.0])}, "not boolean"),
    ],
)
def test_defects_are_found(changes, defect):
    with pytest.raises(BadData, match=defect):
        sound(**changes)
