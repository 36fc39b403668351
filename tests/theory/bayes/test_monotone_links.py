"""A monotone link without noise hides nothing: its labels are those of a linear one."""

import pytest

import gradone as gd


@pytest.mark.parametrize(
    ("text", "mse"),
    [
        # c_1 = 4, c_3 = 6: E g^2 = 22, and half of c_1^2, an eighth of c_3^2/3! are predicted.
        ("z**3 + z", 22 - 16 / 2 - 6 / 8),
        ("z**5", 945 - 225 / 2 - 600 / 8 - 120 / 32),
        ("exp(z/2)**2", 2.718281828459045**2 - 2.718281828459045**1.5),
        ("z**3 + z/10", None),
        ("exp(3*z) + z", None),
        ("z**9 + z", None),
    ],
)
def test_steep_links_are_seen_through(text: str, mse: float | None) -> None:
    """One equation for each label: an overlap q = n/d, however wide the labels spread."""
    found = gd.predict(text, "bayes_amp", alpha=0.5)
    error = found.overlap_err.item()
    assert abs(found.overlap.item() - 0.5) < error < 3e-5
    if mse is not None:
        assert found.test_mse_err.item() < 2e-3 * mse
        assert abs(found.test_mse.item() - mse) <= found.test_mse_err.item()
