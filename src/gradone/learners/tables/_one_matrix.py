"""Finders whose directions are the eigenvectors of one label-conditional matrix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from ...base.arrays import Labels, like
from .._direction_finder import DirectionFinder
from .._found import few_rows
from .._permutation_test import Spectrum, largest_eigenvalue
from .._slices import permuted_slices, slice_weights
from .._whitening import WhitenedInputs


class OneMatrixFinder(DirectionFinder):
    """Directions from the eigenvectors of a matrix of moments, their number by permutation.

    A finder says which functions of the label it uses (:meth:`_functions`) and, of permuted
    labels, :meth:`_permuted`, what is made of them (:meth:`_restored`), and which matrix they give
    (:meth:`_matrices`).
    """

    _labels: ClassVar[Labels] = "any"
    _seen: ClassVar[str]  # what the directions are visible in
    _absent: ClassVar[str]  # what the absence of directions says
    _instead: ClassVar[str]  # what to try then

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Find the directions.

        Parameters
        ----------
        X : array-like (n, d)
            Inputs.
        y : array-like (n,)
            Labels.
        sample_weight : array-like (n,), optional
            Weights of the rows in every mean. The test permutes labels among rows that keep
            their weights.

        Returns
        -------
        object
            Itself.
        """
        data = self._checked(X, y, labels=self._labels, sample_weight=sample_weight)
        inputs = self._whitened(data)
        spectrum = self._spectrum(inputs, data.y)
        k = spectrum.rank if self.n_components is None else self.n_components
        found = spectrum.vectors[:k] @ inputs.axes
        self._keep(data, found, self._diagnosis(inputs, spectrum, k))
        self.eigenvalues_ = like(data.X, spectrum.values)
        self.p_values_ = like(data.X, spectrum.p_values)
        self.rank_ = spectrum.rank
        return self

    def _functions(self, inputs: WhitenedInputs, y: np.ndarray) -> np.ndarray:
        """Functions of the label (n, q)."""
        raise NotImplementedError

    def _permuted(
        self, inputs: WhitenedInputs, y: np.ndarray, functions: np.ndarray
    ) -> Iterator[list[np.ndarray]]:
        """The same of permuted labels, some permutations at a time."""
        raise NotImplementedError

    def _restored(self, inputs: WhitenedInputs, group: list[np.ndarray]) -> list[np.ndarray]:
        """What is made of sets of functions."""
        return group

    def _matrices(self, inputs: WhitenedInputs, group: list[np.ndarray]) -> list[np.ndarray]:
        """Matrix (m, m) of each set of functions (n, q)."""
        raise NotImplementedError

    def _largest(self, inputs: WhitenedInputs, group: list[np.ndarray]) -> list[float]:
        """Largest modulus of an eigenvalue for each set of functions."""
        return [largest_eigenvalue(M) for M in self._matrices(inputs, group)]

    def _spectrum(self, inputs: WhitenedInputs, y: np.ndarray) -> Spectrum:
        functions = self._functions(inputs, y)
        (matrix,) = self._matrices(inputs, self._restored(inputs, [functions]))
        groups = self._permuted(inputs, y, functions)
        null = [top for g in groups for top in self._largest(inputs, self._restored(inputs, g))]
        return Spectrum(matrix, np.array(null))

    def _diagnosis(self, inputs: WhitenedInputs, spectrum: Spectrum, k: int) -> str:
        n, d = inputs.shape
        shown = min(spectrum.rank, k)
        if shown:
            what = "1 direction is" if shown == 1 else f"{shown} directions are"
            text = f"{what} visible in {self._seen}."
        else:
            text = (
                f"no direction was found: {self._absent} at this sample size (n = {n}, d = {d}, "
                f"p = {spectrum.p_value:.3g}). {self._instead}"
            )
        if k > shown:
            text += f" {k - shown} more were asked for; they are within chance."
        return text + few_rows(n, d)


class SlicedFinder(OneMatrixFinder):
    """Finder that sees the label through slices, or classes."""

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_slices: int | None = None,
        n_permutations: int = 39,
        shrinkage: float | None = None,
        chunk_size: int | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_slices = n_slices
        self.n_permutations = n_permutations
        self.shrinkage = shrinkage
        self.chunk_size = chunk_size
        self.random_state = random_state

    def _functions(self, inputs: WhitenedInputs, y: np.ndarray) -> np.ndarray:
        return slice_weights(y, n_slices=self.n_slices, row_weights=inputs.row_weights)

    def _permuted(
        self, inputs: WhitenedInputs, y: np.ndarray, functions: np.ndarray
    ) -> Iterator[list[np.ndarray]]:
        return permuted_slices(
            y,
            functions,
            self.n_permutations,
            np.random.default_rng(self.random_state),
            numbers=len(inputs.axes) ** 2,
            n_slices=self.n_slices,
            row_weights=inputs.row_weights,
        )
