"""Random expressions that are hard for quadrature: steep steps, narrow bumps, saturation."""

import numpy as np

from gradone.base.errors import TargetError
from gradone.targets.language.expression import Expression

FACTORS = ["1", "10", "30", "100", "1000", "10000", "100000", "1000000"]
INSIDE = [
    "{u}",
    "({u} - 0.7)",
    "({u}**2 - 1)",
    "He2({u})",
    "He3({u})",
    "He4({u})",
    "He5({u})",
    "(exp({u}) - 2)",
    "({u}**3 - {u})",
    "sin(3*{u})",
    "(abs({u}) - 0.4)",
    "(0.5 - {u}*tanh({u}))",
]
STEPS = ["tanh", "erf", "sigmoid", "tanh", "erf"]
FORMS = {
    1: ["z1"],
    2: ["z1", "z2", "(z1 + z2)", "(z1 - 0.5*z2)", "z1*z2"],
    3: ["z1", "z2", "z3", "(z1 + z2 + z3)", "z1*z2", "(z2 - z3)"],
}


def steep(rng: np.random.Generator, r: int, depth: int = 2) -> str:
    """Text of a random function of at most r variables."""

    def part() -> str:
        return steep(rng, r, depth - 1)

    u = str(rng.choice(FORMS[r]))
    inside = str(rng.choice(INSIDE)).format(u=u)
    factor = str(rng.choice(FACTORS))
    kinds = ["step"] * 4 + ["bump"]
    if depth:
        kinds += ["product", "product", "sum", "square", "inside", "kink", "polynomial"]
    match str(rng.choice(kinds)):
        case "step":
            return f"{rng.choice(STEPS)}({factor}*{inside})"
        case "bump":
            center = round(float(rng.uniform(-1.5, 1.5)), 2)
            return f"exp(-{factor}*({u} - ({center}))**2)"
        case "product":
            return f"({part()})*({part()})"
        case "sum":
            return f"{part()} - 0.5*({part()})"
        case "square":
            return f"({part()})**2"
        case "inside":
            return f"{rng.choice(STEPS)}({factor}*({part()} - 0.3))"
        case "kink":
            kink = rng.choice(["relu({a})", "abs({a})", "sign({a})", "max({a}, {b})"])
            return str(kink).format(a=part(), b=part())
        case _:
            return f"{inside}*({part()})"


def draw_steep(r: int, count: int, seed: int = 0) -> list[str]:
    """Accepted expressions of exactly r variables that are not polynomials."""
    rng = np.random.default_rng([20261117, seed, r])
    found: dict[str, None] = {}
    while len(found) < count:
        text = steep(rng, r)
        try:
            expression = Expression(text)
        except TargetError:
            continue
        if expression.variables == tuple(range(1, r + 1)) and expression.polynomial is None:
            found[text] = None
    return list(found)
