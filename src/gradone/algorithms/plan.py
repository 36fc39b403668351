"""The verb ``plan``: which algorithm learns a target, from how much data, and what it leaves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..analysis.correlation.leap import LeapRecord
from ..analysis.plan import Case, Plan, Sizes
from ..analysis.plan.bounds import Bound, csq_bound, sq_bound
from ..base.errors import BadData
from ..targets.hierarchy import HierarchicalTarget
from ..targets.on_inputs import OnInputs
from ..targets.sampled import Sampled, whole_number
from ..targets.target import Target
from ._cards import all_cards

if TYPE_CHECKING:
    import xarray as xr


def plan(
    target: Sampled | str,
    *,
    d: int = 1000,
    n: int | None = None,
    width: int | None = None,
    with_theory: bool | Mapping[str, xr.Dataset] = False,
    inputs: Any = None,
    directions: Any = "random",
) -> Plan:
    r"""Which algorithm learns a target, from how much data, and what it leaves unlearned.

    Parameters
    ----------
    target : Target, hierarchical target or str
        What is to be learned; a text stands for a noiseless :class:`.Target`.
    d, n, width : int
        Input dimension, number of samples (5 d if not given), number of neurons or random
        features (d if not given).
    with_theory : bool or mapping of str to Dataset
        Also ask state evolution for the error of Bayes-AMP at n/d, which takes seconds; without it
        the row says that the directions are known in part. Or its answer at n/d, by the name
        ``"bayes_amp"``.
    inputs, directions
        Law of the inputs and hidden directions, as of :meth:`.Target.on`. The rows are those of
        Gaussian inputs where directions are random, of whitened inputs under a covariance; on
        coordinates of other inputs there is no plan, :func:`gradone.analyze` has the exponents.

    Returns
    -------
    Plan
        Rows sorted by the data that the algorithms need.

    Notes
    -----
    Scalings hold up to constants unless a row has one; the margin :math:`\log n/\log d` minus the
    exponent says how clearly the sizes at hand are above or below. The error left is that of the
    large-d theory, with the directions learned exactly.

    Examples
    --------
    >>> p = plan(Target("z1 + He2(z2) + He2(z1)*z2 + He4(z1)*He2(z2)*z3 + He2(z2)*He2(z3)"))
    >>> for row in p.staircase:
    ...     print(row.steps, [e.value for e in row.plateaus])
    0 [57.0, 56.0, 54.0]
    1 [56.0, 54.0, 52.0]
    2 [52.0, 4.0, 0.0]
    3 [0.0, 0.0, 0.0]
    """
    target = Target(target) if isinstance(target, str) else target
    if not isinstance(target, Target | HierarchicalTarget | OnInputs):
        raise BadData(f"a plan needs a Target or a hierarchical target, got {target!r}")
    shown = target.on(inputs, directions)
    target = shown.twin if isinstance(shown, OnInputs) else shown
    d = whole_number("d", d, least=2)
    n = whole_number("n", 5 * d if n is None else n)
    sizes = Sizes(d, n, whole_number("width", d if width is None else width))
    if isinstance(target, Target) and sizes.d < target.r:
        raise BadData(f"d must be at least r = {target.r}, got {sizes.d}")
    case = Case(target, sizes, with_theory)
    rows = [row for card in all_cards() for row in card.needs(case)]
    ranked = tuple(sorted(rows, key=lambda row: row.rank))
    about = ""
    if isinstance(shown, OnInputs):
        about = shown.assumption(None if case.is_deep else case.record.exponent.value)
    return Plan(shown, sizes, ranked, () if case.is_deep else _bounds(case), about)


def _bounds(case: Case) -> tuple[Bound, ...]:
    """Lower bounds for correlation queries and for all statistical queries."""
    bounds = [csq_bound(case.sizes.d, k) for k in _orders(case.record)]
    exponent = case.learnability.generative_exponent.value
    return (*bounds, *([] if exponent is None else [sq_bound(exponent)]))


def _orders(record: LeapRecord) -> list[int]:
    """Orders that bound correlation queries: for the first direction, and for all of them."""
    known = {record.information.value, record.exponent.value} - {None}
    return sorted(k for k in known if k is not None)
