"""The words of the language with their meaning, for lists and help pages."""

from __future__ import annotations

from .language.abbreviations import ABBREVIATIONS
from .language.functions import FUNCTIONS, MAX_HERMITE

# A test asks for the meaning of every function of the language.
_MEANING = {
    "abs": "absolute value",
    "clip": "z between two bounds, min(max(z1, -1), 2)",
    "cos": "cosine",
    "elu": "z for z > 0, else exp(z) - 1",
    "erf": "error function, 2/sqrt(pi) times the integral of exp(-t**2) from 0 to z",
    "exp": "exponential",
    "gelu": "z times the Gaussian distribution function",
    "hardtanh": "z between -1 and 1",
    "leaky_relu": "z for z > 0, else 0.1*z",
    "log": "natural logarithm",
    "max": "largest of two or more",
    "min": "smallest of two or more",
    "relu": "positive part, max(z, 0)",
    "sigmoid": "1/(1 + exp(-z))",
    "sign": "-1, 0 or 1",
    "silu": "z*sigmoid(z)",
    "sin": "sine",
    "softplus": "log(1 + exp(z))",
    "sqrt": "square root",
    "step": "1 for z > 0, else 0",
    "tanh": "hyperbolic tangent",
}


def vocabulary() -> dict[str, str]:
    """Functions that a target may use, and their meaning.

    Examples
    --------
    >>> vocabulary()["relu(z)"]
    'positive part, max(z, 0)'
    """
    hermite = {f"He{k}" for k in range(MAX_HERMITE + 1)}
    found = {
        f"He0(z) ... He{MAX_HERMITE}(z)": "Hermite polynomials of the probabilists: He2 = z**2 - 1"
    }
    for name in sorted({*FUNCTIONS, *ABBREVIATIONS} - hermite):
        if name in ABBREVIATIONS:
            arguments = ABBREVIATIONS[name][0]
        else:
            arguments = ("z1", "z2")[: FUNCTIONS[name].arity]
        inside = ", ".join(arguments) if len(arguments) > 1 else "z"
        found[f"{name}({inside})"] = _MEANING[name]
    return found
