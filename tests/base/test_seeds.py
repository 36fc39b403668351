"""Randomness is addressed by name, not consumed in order."""

import hashlib
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gradone.base.errors import BadData
from gradone.base.seeds import canonical, fingerprint, stream

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(-1e9, 1e9) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.integers(-(10**15), 10**15))
def test_equal_numbers_give_equal_text(n):
    texts = {canonical(n), canonical(float(n)), canonical(np.int64(n)), canonical(np.float64(n))}
    assert len(texts) == 1


@given(plain)
def test_canonical_text_is_json_of_the_same_value(value):
    assert json.loads(canonical(value)) == value


@given(st.dictionaries(st.text(min_size=1), st.integers(), min_size=2, max_size=5))
def test_the_order_of_keys_does_not_matter(cell):
    turned = dict(reversed(cell.items()))
    assert fingerprint("data", cell) == fingerprint("data", turned)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), object(), {1: 2}, {"a": {2.5}}])
def test_what_cannot_name_a_cell_is_refused(value):
    with pytest.raises(BadData):
        canonical(value)


def test_minus_zero_is_zero():
    assert canonical(-0.0) == "0"


def test_streams_do_not_depend_on_what_was_drawn_before():
    first = stream(3, "data", d=10, replicate=0).standard_normal(4)
    stream(3, "noise", d=10).standard_normal(100)
    again = stream(3, "data", d=10.0, replicate=np.int64(0)).standard_normal(8)
    np.testing.assert_array_equal(first, again[:4])


@pytest.mark.stat
def test_streams_of_different_cells_are_independent():
    """Correlations of 400 pairs of streams, 2000 numbers each: threshold 5.3 sigma, p < 1e-6."""
    drawn = np.array([stream(0, "data", replicate=i).standard_normal(2000) for i in range(30)])
    correlation = np.corrcoef(drawn)[np.triu_indices(30, 1)]
    assert np.abs(correlation).max() < 6.2 / np.sqrt(2000)


@pytest.mark.parametrize("seed", [-1, 1.5, "0", None, True])
def test_a_seed_is_a_non_negative_integer(seed):
    with pytest.raises(BadData, match="integer >= 0"):
        stream(seed, "data")


def test_names_of_cells_never_change():
    """Stored results are found by these names: blake2b of the compact sorted JSON."""
    text = b'["data",{"d":100,"replicate":0}]'
    expected = hashlib.blake2b(text, digest_size=16).digest()
    assert fingerprint("data", {"replicate": 0, "d": 100.0}) == expected
