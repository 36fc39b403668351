"""Curves that the lab is delivered with."""

from __future__ import annotations

from typing import Any

import pytest

from gradone.lab import tour


@pytest.mark.parametrize(
    ("question", "delivered"),
    list(zip(tour.questions(), tour.delivered(), strict=True)),
    ids=[question["theory"] for question in tour.questions()],
)
def test_curves_of_the_tour_are_those_that_the_code_gives(
    question: dict[str, Any], delivered: dict[str, Any]
) -> None:
    """If not, ``make tour`` computes them again."""
    found = tour.computed(question)
    assert {**found, "series": ...} == {**delivered, "series": ..., "marks": found["marks"]}
    openings, before = (answer["marks"]["openings"] for answer in (found, delivered))
    assert openings == {words: pytest.approx(places) for words, places in before.items()}
    for one, before in zip(found["series"], delivered["series"], strict=True):
        assert {**one, "x": ..., "y": ...} == {**before, "x": ..., "y": ...}
        assert one["x"] == pytest.approx(before["x"])
        assert one["y"] == pytest.approx(before["y"], rel=1e-3, abs=1e-3)  # what a picture shows
