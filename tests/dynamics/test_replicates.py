"""Replicates have addresses: some of them are the same numbers alone and among all."""

import pytest
import xarray as xr

import gradone as gd

CHAIN = {"d": 100, "width": 2, "steps": 50, "step_size": 1e-3, "record": 5}
BATCH = {"d": 100, "alpha": 2.0, "width": 2, "steps": 4, "step_size": 0.1, "test_samples": 64}


@pytest.mark.parametrize(
    ("verb", "settings"), [(gd.dynamics.sgd, CHAIN), (gd.dynamics.reused_batch, BATCH)]
)
def test_replicates_from_a_first_one_on(verb, settings):
    """Would catch: replicates that are counted from 0 in every call."""
    every = verb("He2(z)", replicates=4, **settings)
    some = verb("He2(z)", replicates=range(2, 4), **settings)
    xr.testing.assert_identical(some, every.sel(replicate=[2, 3]))
    with pytest.raises(
        gd.BadData, match=r"replicates must be a number, or a range .* got range\(-1, 3\)"
    ):
        verb("He2(z)", replicates=range(-1, 3), **settings)


def test_a_replicate_that_runs_away_is_named_by_its_address():
    with pytest.raises(gd.NotConverged, match="the weights of replicate [34] diverged") as caught:
        gd.dynamics.reused_batch(
            "He3(z)", d=50, n=50, steps=30, step_size=50.0, replicates=range(3, 5)
        )
    assert caught.value.last.replicate.values.tolist() == [3, 4]
