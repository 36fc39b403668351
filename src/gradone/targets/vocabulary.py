"""The words of the language with their meaning, for lists and help pages."""

from __future__ import annotations

from .language.functions import FUNCTIONS, MAX_HERMITE

# A test asks for the meaning of every function of the language.
_MEANING = {
    "abs": "absolute value",
    "cos": "cosine",
    "erf": "error function, 2/sqrt(pi) times the integral of exp(-t**2) from 0 to z",
    "exp": "exponential",
    "gelu": "z times the Gaussian distribution function",
    "log": "natural logarithm",
    "max": "larger of two",
    "min": "smaller of two",
    "relu": "positive part, max(z, 0)",
    "sigmoid": "1/(1 + exp(-z))",
    "sign": "-1, 0 or 1",
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
    for name in sorted(set(FUNCTIONS) - hermite):
        arguments = ", ".join(("z1", "z2")[: FUNCTIONS[name].arity])
        found[f"{name}({arguments})" if FUNCTIONS[name].arity > 1 else f"{name}(z)"] = _MEANING[
            name
        ]
    return found
