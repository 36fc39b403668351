"""What the first gradient finds, in the limit of many dimensions."""

import numpy as np

from gradone.base.curves import curve
from gradone.theory._registry import Theory


class FirstGradientCosine(Theory):
    r"""Squared cosine of the first gradient with the target.

    .. math:: \cos^2 = \frac{c_1^2}{c_1^2 + (\mathrm{Var}\,y + \Delta)/\alpha}, \qquad
              c_1 = \mathbb{E}[y z]                                                     [FG-1]

    Examples
    --------
    >>> import gradone as gd
    >>> float(gd.predict("z", "first_gradient_cosine", alpha=1.0).cosine2.item())
    0.5
    """

    answers = ("cosine2",)
    axes = ("alpha",)
    regime = "n, d -> infinity in proportion; Gaussian inputs"
    cites = ("dandi2023giant",)

    def obstacle(self, target):
        """Why the theory does not cover a target, or None."""
        return None if target.r == 1 else f"the target has {target.r} directions, this has one"

    def predict(self, target, *, alpha):
        """Squared cosine at each alpha."""
        linear = target.hermite(1).energies[1]
        size = target.variance.value + target.noise
        cosine2 = linear.value / (linear.value + size / np.asarray(alpha))  # [FG-1]
        error = np.full(len(cosine2), linear.error / size + 1e-15)
        dims = ("alpha", "direction2")
        values = {"cosine2": (dims, cosine2[:, None]), "cosine2_err": (dims, error[:, None])}
        coords = {"alpha": alpha, "direction2": [1]}
        return curve(values, coords, source=f"theory:{self.name}", target=target.text)
