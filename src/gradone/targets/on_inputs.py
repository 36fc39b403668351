"""A target on inputs of another law, or with chosen directions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np

from ..base.errors import BadData, OutOfRegime, TargetError
from .directions import Projection, hidden_directions, orthonormal_rows
from .inputs import Law, as_law
from .inputs.gaussian import Gaussian
from .inputs.mixture import Mixture
from .language.coordinates import rewrite
from .realization import IndexRealization
from .sampled import Sampled, whole_number
from .sampling import Labeler
from .target import Target

Situation = Literal["gaussian", "covariance", "delocalized", "axes", "given", "mixture", "rows"]
_WORDS: dict[str, str] = {
    "gaussian": "the inputs are standard Gaussian",
    "covariance": "the inputs have a covariance",
    "delocalized": "the inputs are not Gaussian, the directions spread over all coordinates",
    "axes": "the directions are coordinates of {} inputs, where z is not Gaussian",
    "given": "the inputs are not Gaussian, and the law of z depends on the rows that are given",
    "mixture": "the inputs are a mixture",
    "rows": "the inputs are rows of a table",
}
_WORDS_OF_DIRECTIONS = ("random", "axes", "eigenvectors")
_LARGE_LEAP = 3  # from here on corrections of order 1/d compete with m^(k - 1) at m ~ d^(-1/2)


@dataclass(frozen=True, eq=False, repr=False)
class OnInputs(Sampled):
    r"""A target whose inputs have a law of their own; :meth:`.Sampled.on` makes it.

    Parameters
    ----------
    target : Target or hierarchical target
        The function, and its noise.
    inputs : Law
        Law of the rows of X.
    directions : "random", "axes", "eigenvectors", sequence of int, or array (r, d)
        Hidden directions: uniform; the first coordinates; the eigenvectors of the largest
        eigenvalues of the covariance; the coordinates of these numbers, from 0; or these rows.

    Notes
    -----
    Labels are :math:`y = g(W^\star x)`; for rows of a table the projections are standardized.

    Examples
    --------
    >>> from gradone import inputs
    >>> Target("z1*z2").on(inputs.rademacher(), "axes")
    Target('z1*z2').on(inputs.rademacher(), 'axes')
    """

    kind = ("a target on inputs of another law", "targets on inputs of other laws")

    target: Target | Any
    inputs: Law
    directions: Any = "random"

    def __post_init__(self) -> None:
        object.__setattr__(self, "directions", _checked(self.directions, self.target))
        if not isinstance(self.target, Target):
            if self.directions != "random" or self.inputs.is_standardized:
                raise BadData(
                    f"{self.target.kind[0]} has random directions, and inputs that need no "
                    "standardized projections"
                )
        elif self.situation == "axes" and not self.target.q:
            values = self.target.mean(self.z_rule(24)[0])
            if np.ptp(values) <= 1e-12 * max(1.0, float(np.abs(values).max())):
                raise TargetError(
                    f"'{self.target.text}' is constant on these inputs: z has only the values of "
                    f"{self.inputs.name} coordinates"
                )

    # ---- identity

    @property
    def noise(self) -> float:  # type: ignore[override]
        """Variance of the label noise."""
        return float(self.target.noise)

    @property
    def text(self) -> str:
        """Text of the target and of its inputs."""
        directions = "" if self.directions == "random" else f", {self._directions_text} directions"
        return f"{self.target.text} on {self.inputs.text} inputs{directions}"

    @property
    def _directions_text(self) -> str:
        if isinstance(self.directions, str):
            return self.directions
        if isinstance(self.directions[0], int):
            return f"coordinates {list(self.directions)} as"
        return "given"

    @property
    def latex(self) -> str:
        """LaTeX of the function."""
        return str(self.target.latex)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, OnInputs):
            return NotImplemented
        mine = (self.target, self.inputs, self.directions)
        return mine == (other.target, other.inputs, other.directions)

    def __hash__(self) -> int:
        return hash((self.target, self.inputs, self.directions))

    def __repr__(self) -> str:
        return f"{self.target!r}.on({self.inputs!r}, {self.directions!r})"

    # ---- what the law means for the projections

    @property
    def r(self) -> int:
        """Number of hidden directions."""
        return int(self.target.r)

    @property
    def are_axes(self) -> bool:
        """Whether the directions are coordinates."""
        return self.directions != "random" and not self._is_given

    @property
    def _is_given(self) -> bool:
        """Whether they are rows that somebody wrote, of which nothing is known."""
        return not isinstance(self.directions, str) and not isinstance(self.directions[0], int)

    @property
    def situation(self) -> Situation:
        """What a theory has to know: which of the cases of the laws this is."""
        law = self.inputs
        if isinstance(law, Gaussian):
            return "gaussian" if law.is_isotropic else "covariance"
        if law.is_product:
            if self._is_given:
                return "given"
            return "delocalized" if self.directions == "random" else "axes"
        if law.is_rotation_invariant:
            return "delocalized"
        return "mixture" if isinstance(law, Mixture) else "rows"

    @property
    def situation_in_words(self) -> str:
        """The same as a clause."""
        return _WORDS[self.situation].format(self.inputs.name.capitalize())

    def z_rule(self, count: int) -> tuple[np.ndarray, np.ndarray]:
        """Points (m, r) and weights of the law of z, about `count` along each direction.

        Examples
        --------
        >>> points, weights = Target("z1*z2").on("rademacher", "axes").z_rule(10)
        >>> points.tolist(), weights.tolist()
        ([[-1.0, -1.0], [-1.0, 1.0], [1.0, -1.0], [1.0, 1.0]], [0.25, 0.25, 0.25, 0.25])
        """
        law, r = self.inputs, self.r
        if law.is_product and self.are_axes:
            points, weights = law.rule(count)
            grid = np.meshgrid(*[points[:, 0]] * r, indexing="ij")
            product = weights
            for _ in range(r - 1):
                product = np.multiply.outer(product, weights)
            return np.stack(grid, axis=-1).reshape(-1, r), product.ravel()
        if isinstance(law, Mixture) and self.directions == "axes":
            return law.coordinate_rule(r, count)
        raise OutOfRegime(f"there is no rule for the law of z: {self.situation_in_words}")

    @cached_property
    def reduced(self) -> Target:
        r"""Target :math:`g(Az)` of whitened Gaussian inputs with the same labels in law.

        :math:`A = (W^\star\Sigma W^{\star\top})^{1/2}`; for random directions its limit in a high
        dimension, :math:`A = (\mathrm{Tr}\,\Sigma/d)^{1/2} I`.

        Examples
        --------
        >>> from gradone import inputs
        >>> Target("z1*z2").on(inputs.gaussian(spectrum=[4.0, 1.0, 1.0]), "axes").reduced
        Target('2*z1*z2')
        """
        law, target = self.inputs, self.target
        if not isinstance(law, Gaussian) or not isinstance(target, Target):
            raise OutOfRegime(f"only Gaussian inputs can be whitened: {self.situation_in_words}")
        if law.is_isotropic:
            return target
        root = self._root(law)
        whole = np.eye(target.r + target.q)
        whole[: target.r, : target.r] = root
        if np.allclose(whole, np.eye(len(whole)), rtol=0, atol=1e-15):
            return target
        return Target.of(rewrite(target.joint, whole), target.noise, latent=target.q)

    def cumulants(
        self, d: int, *, seed: int = 0, replicate: int = 0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Skewness and excess kurtosis (r,) of the projections z in one replicate.

        Examples
        --------
        >>> Target("z1*z2").on("laplace", "axes").cumulants(50)[1].round(9)
        array([3., 3.])
        """
        d = whole_number("d", d)
        self.inputs.check(d)
        W = self.rows(d, seed, replicate)
        if self.inputs.is_standardized:
            W = W / np.sqrt(self.inputs.covariance(d))
        return self.inputs.cumulants(W)

    def assumption(self, leap: int | None = None) -> str:
        """What one must know of numbers that were computed for standard Gaussian inputs.

        Parameters
        ----------
        leap : int, optional
            Leap exponent of the target, where the numbers speak of leaving a random start.

        Examples
        --------
        >>> print(Target("He3(z)").on("laplace").assumption())
        Random directions see Gaussian projections up to corrections of order 1/d.
        """
        if self.situation == "covariance":
            return (
                "The target is that of whitened inputs: this is for who knows the covariance, and "
                "a bound for who does not."
            )
        if self.situation != "delocalized":
            return ""
        found = "Random directions see Gaussian projections up to corrections of order 1/d."
        if leap is None or leap < _LARGE_LEAP or not self.inputs.is_product:
            return found
        return (
            f"{found} For the leap of order {leap} these are not smaller than the gradient at a "
            "random start: the times and samples of SGD may differ from those of Gaussian inputs."
        )

    @property
    def twin(self) -> Any:
        """Target of standard Gaussian inputs that stands for this one in a high dimension.

        The function itself where directions are random, :attr:`reduced` under a covariance.
        """
        if self.situation in ("gaussian", "delocalized"):
            return self.target
        if self.situation == "covariance":
            return self.reduced
        raise OutOfRegime(
            f"no target of Gaussian inputs stands for this one: {self.situation_in_words}"
        )

    @cached_property
    def eigenvalues(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues of the covariance: of the directions, which are eigenvectors, and others."""
        law = self.inputs
        d = law.dimension if isinstance(law, Gaussian) else getattr(law, "d", None)
        if d is None:
            raise BadData(
                "the eigenvalues depend on d: give the covariance, the spectrum, or "
                "gd.inputs.gaussian(power_law=..., d=...)"
            )
        values, W = law.covariance(d), self.rows(d)
        image = W * values if values.ndim == 1 else W @ values
        own = (image * W).sum(axis=1)
        if np.abs(image - own[:, None] * W).max() > 1e-8 * float(np.abs(values).max()):
            raise OutOfRegime("the directions are not eigenvectors of the covariance")
        if values.ndim == 1 and self.are_axes:
            return own, np.delete(values, W.argmax(axis=1))
        values = np.diag(values) if values.ndim == 1 else values
        rest = values - (W.T * own) @ W
        others = np.sort(np.maximum(np.linalg.eigvalsh(rest), 0.0))
        return own, others[self.r :]

    def _root(self, law: Gaussian) -> np.ndarray:
        """The matrix A."""
        d = law.dimension
        if d is None:
            if self.directions != "random" or law.arguments.get("trace") is not None:
                raise BadData(
                    "the eigenvalues of a power law depend on d: write "
                    f"gd.inputs.gaussian(power_law={law.arguments['power_law']}, d=...)"
                )
            return np.eye(self.r)
        values = law.covariance(d)
        if self.directions == "random":
            trace = values.sum() if values.ndim == 1 else np.trace(values)
            return np.eye(self.r) * np.sqrt(trace / d)
        W = self.rows(d)
        inner = (W * values) @ W.T if values.ndim == 1 else W @ values @ W.T
        sizes, vectors = np.linalg.eigh(inner)
        root = (vectors * np.sqrt(np.maximum(sizes, 0.0))) @ vectors.T
        return np.where(np.abs(root) < 1e-12 * np.abs(root).max(), 0.0, root)

    # ---- samples

    def rows(self, d: int, seed: int = 0, replicate: int = 0) -> np.ndarray:
        """Hidden directions (r, d), orthonormal."""
        r, given = self.r, self.directions
        if given == "random":
            return hidden_directions(r, d, seed=seed, replicate=replicate)
        if self._is_given:
            found = np.array(given)
            if found.shape[1] != d:
                raise BadData(f"the directions are given for d = {found.shape[1]}, got d = {d}")
            return found
        if given == "eigenvectors":
            values = self.inputs.covariance(d)
            if values.ndim == 2:
                vectors = np.linalg.eigh(values)[1][:, ::-1].T
                return np.ascontiguousarray(vectors[:r])
            chosen: Sequence[int] = np.argsort(-values, kind="stable")[:r].tolist()
        else:
            chosen = range(r) if given == "axes" else given
        if max(chosen) >= d or r > d:
            raise BadData(f"there is no coordinate {max(chosen)} in d = {d} dimensions")
        found = np.zeros((r, d))
        found[np.arange(r), list(chosen)] = 1.0
        return found

    def realization(self, d: int, *, seed: int = 0, replicate: int = 0) -> Labeler:
        """Target in dimension d, with directions that suit the law."""
        d = whole_number("d", d)
        self.inputs.check(d)
        if not isinstance(self.target, Target):
            return self.target.realization(d, seed=seed, replicate=replicate)
        W_star = self.rows(d, seed, replicate)
        if not self.inputs.is_standardized:
            return IndexRealization(W_star, self.target)
        return StandardizedRealization(W_star, self.target, self.inputs.covariance(d))


class StandardizedRealization(IndexRealization):
    """Multi-index function of projections that are divided by their standard deviations.

    Parameters
    ----------
    W_star : ndarray (r, d)
        Directions of the whitened inputs.
    target : Target
        The function.
    variances : ndarray (d,)
        Variances of the inputs, whose coordinates are uncorrelated.
    """

    def __init__(self, W_star: np.ndarray, target: Target, variances: np.ndarray) -> None:
        whitened = W_star / np.sqrt(variances)
        super().__init__(orthonormal_rows(whitened), target)
        self._project = Projection(whitened)


def _checked(given: Any, target: Sampled) -> Any:
    """Directions as a word, a tuple of integers, or a tuple of tuples of numbers."""
    if isinstance(given, str):
        if given not in _WORDS_OF_DIRECTIONS:
            raise BadData(
                f"directions must be one of {', '.join(_WORDS_OF_DIRECTIONS)}, coordinates or rows "
                f"(r, d), got {given!r}"
            )
        return given
    try:
        found = np.array(given)
    except ValueError:
        found = np.empty(0)
    r = getattr(target, "r", 0)
    if found.ndim == 1 and found.dtype.kind in "iu" and len(found) == r:
        if len(set(found.tolist())) < r or found.min() < 0:
            raise BadData(f"directions must be {r} different coordinates >= 0, got {given!r}")
        return tuple(found.tolist())
    if found.ndim != 2 or found.dtype.kind not in "fiu" or len(found) != r:
        raise BadData(
            f"directions must be a word, {r} coordinates, or an array ({r}, d), got {given!r}"
        )
    rows = found.astype(np.float64)
    if not np.allclose(rows @ rows.T, np.eye(r), rtol=0, atol=1e-8):
        raise BadData("directions must be orthonormal rows; use np.linalg.qr(W.T)[0].T")
    return tuple(map(tuple, rows.tolist()))


def on_inputs(target: Sampled, inputs: Any = None, directions: Any = "random") -> Sampled:
    """Target on inputs of a law; itself for standard Gaussian inputs and random directions."""
    is_random = isinstance(directions, str) and directions == "random"
    if inputs is None and is_random:
        return target
    if isinstance(target, OnInputs):
        raise BadData(f"this target has inputs already: {target.inputs!r}")
    law = as_law("gaussian" if inputs is None else inputs)
    if isinstance(law, Gaussian) and law.is_isotropic and is_random:
        return target
    return OnInputs(target, law, directions)


def without_inputs(target: Sampled) -> Sampled:
    """The function alone, of a target that may have inputs of its own."""
    return target.target if isinstance(target, OnInputs) else target
