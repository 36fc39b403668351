"""Directions that the label depends on, from the moments of the inputs given the label."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...base.arrays import Labels, like
from ...base.cost import Cost
from ...base.errors import BadData
from ...targets.target import Target
from .._direction_finder import DirectionFinder, Training
from .._found import Found
from .._memory import matrices_of
from .._registry import LEARNERS
from .._sliced_spectrum import sliced_directions
from ._channel_spectrum import channel_directions
from ._products import StandardizedProducts


@LEARNERS.add("spectral_directions")
class SpectralDirections(DirectionFinder):
    r"""Directions found from label-conditional moments of first and second order.

    Without knowledge of the link the functions of the label are smooth slices :math:`T_b(y)`
    (cosines of its rank, or classes), and directions are eigenvectors of

    .. math:: M_1 = \sum_b m_b m_b^\top, \quad m_b = \tfrac1n \sum_i T_b(y_i) u_i, \qquad
              M_2 = \sum_b A_b^2, \quad A_b = \tfrac1n \sum_i T_b(y_i) u_i u_i^\top    [SD-1]

    of the whitened inputs u, as many as exceed what permuted labels give. With a known `channel`
    the optimal function of the label takes the place of the slices:

    .. math:: \sum_i x_i x_i^\top \otimes T(y_i), \qquad
              T = G (I + G)^{-1}, \quad G(y) = E[z z^\top - I \mid y].    [SD-2]

    Parameters
    ----------
    channel : Target, optional
        Law of the label given the projections, if it is known: a function of standardized features
        (plus noise), up to the directions that are sought.
    n_components : int, optional
        Number of directions. None: as many as the permutation test finds, which may be none; with
        a channel, as many as it lets be found at this n/d.
    n_permutations : int
        Permutations of the test: each order has the level 1 / (n_permutations + 1).
    shrinkage : float, optional
        Weight s of the identity in the covariance that whitens, 0 to 1. None: 0.2 min(1/2, d/n) +
        0.001. Not used with a channel.
    chunk_size : int, optional
        Rows of X that are worked on at once; chosen by size if None.
    random_state : int or Generator, optional
        Of the permutations, and of the start of Lanczos.

    Attributes
    ----------
    directions_ : array (k, d)
        Orthonormal rows, in units of the standardized features: ``transform`` returns
        ``((X - mean_) / scale_) @ directions_.T``. Those seen to first order come first.
    n_directions_ : int
        Number of directions.
    eigenvalues_ : array (k,)
        Eigenvalue that each direction was found with.
    first_order_rank_, second_order_rank_ : int
        Number of directions found at each order; a direction may count in both. With a channel
        the second order counts those that the first does not see.
    p_values_ : tuple of float, or None
        Of the largest eigenvalue of each order under permutation; None with a channel.
    diagnosis_ : str
        What was found, in words.
    mean_, scale_ : array (d,)
        Centre and scale of the features; the scale of a constant column is 1.

    Notes
    -----
    It finds directions with generative exponent 1 or 2 that are visible without knowing others: of
    ``He2(z1) + sign(z1*z2*z3)`` only z1. A parity of three directions, or ``sin(3*z)`` at moderate
    n, is invisible to it. The estimate has an error of order :math:`\sqrt{d/n}` and is not refined.
    With rotations of X the directions rotate up to the shrinkage and the fluctuations of the
    scales; a rescaling of the columns changes nothing.

    Cost: :math:`q (P + 1) n d^2` operations for q slices (6, or the classes minus 1) and P
    permutations, in matrix products; with a channel :math:`4 n d r` for each of some hundred
    iterations. Memory beyond X: about 250 MB, or 100 d^2 numbers if that is more; with a channel
    some d r and n r^2 numbers.

    Copies of a row, label included, are one observation with a weight: the test does not take them
    for evidence, and integer weights equal repetition. In tables of few values rows agree by
    chance, and each counts.

    References
    ----------
    troiani2024limits, defilippis2025spectral, mondelli2017weak, lu2017spectral

    Examples
    --------
    >>> import gradone as gd
    >>> s = gd.Target("sign(z1*z2)").sample(n=2000, d=20, seed=0)
    >>> finder = SpectralDirections(random_state=0).fit(s.X, s.y)
    >>> print(finder.diagnosis_)
    2 directions are visible only to second order.
    >>> overlaps = np.linalg.svd(finder.directions_ @ s.W_star.T, compute_uv=False)
    >>> bool(overlaps.min() > 0.95)
    True
    """

    cites = ("troiani2024limits", "defilippis2025spectral", "mondelli2017weak", "lu2017spectral")
    cost = Cost(
        "6 (permutations + 1) n d^2 operations; with a channel about 400 n d r",
        lambda s: 6 * (s.n_permutations + 1) * s.n * s.d**2,
        matrices_of,
    )

    def __init__(
        self,
        channel: Target | None = None,
        n_components: int | None = None,
        *,
        n_permutations: int = 39,
        shrinkage: float | None = None,
        chunk_size: int | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.channel = channel
        self.n_components = n_components
        self.n_permutations = n_permutations
        self.shrinkage = shrinkage
        self.chunk_size = chunk_size
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> SpectralDirections:
        """Find the directions.

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        y : array-like (n,)
            Labels: numbers, or classes of any kind without a channel.
        sample_weight : array-like (n,), optional
            How often each row was seen; without a channel only.

        Returns
        -------
        SpectralDirections
            Itself.
        """
        labels: Labels = "any" if self.channel is None else "exact"
        if sample_weight is not None and self.channel is not None:
            raise BadData("sample_weight is for directions without a channel: repeat rows instead")
        data = self._checked(
            X, y, labels=labels, sample_weight=sample_weight, merge_copies=self.channel is None
        )
        rng = np.random.default_rng(self.random_state)
        search = self._from_slices if self.channel is None else self._from_channel
        found = search(data, rng)
        self._keep(data, found.directions, found.diagnosis)
        self.eigenvalues_ = like(data.X, found.eigenvalues)
        self.first_order_rank_ = found.first_order_rank
        self.second_order_rank_ = found.second_order_rank
        self.p_values_ = found.p_values
        return self

    def _from_slices(self, data: Training, rng: np.random.Generator) -> Found:
        return sliced_directions(
            self._whitened(data),
            data.y,
            n_components=self.n_components,
            permutations=self.n_permutations,
            rng=rng,
        )

    def _from_channel(self, data: Training, rng: np.random.Generator) -> Found:
        assert self.channel is not None
        products = StandardizedProducts(data.X, data.columns, self.chunk_size)
        found = channel_directions(
            self.channel, data.y, products, n_components=self.n_components, rng=rng
        )
        return found._replace(directions=found.directions[:, data.columns.kept])

    def _check_parameters(self) -> None:
        if not (self.channel is None or isinstance(self.channel, Target)):
            raise BadData(
                f"channel must be a Target or None, got {self.channel!r}. "
                'Write channel=gradone.Target("sign(z1*z2)").'
            )
        super()._check_parameters()
