"""Random expressions of the language, as text, from one grammar for every property test.

The grammar asks `choose` for every decision, so that the same rules serve a seeded sampler
(`sample`, `samples`) and a hypothesis strategy (`expressions`, which shrinks).
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

from gradone.base.errors import TargetError
from gradone.targets.language.expression import Expression
from gradone.targets.language.functions import FUNCTIONS

Choose = Callable[[Sequence[Any]], Any]

ONE_ARGUMENT = [name for name, function in FUNCTIONS.items() if function.arity == 1]
TWO_ARGUMENTS = [name for name, function in FUNCTIONS.items() if function.arity == 2]
NUMBERS = ["0", "1", "2", "3", "5", "7", "0.5", "0.25", "1.5", "1/3", "2/7", "0.1", "1e-1", ".75"]
# Every Hermite polynomial is a choice; the others stand in the list more often so that one
# expression in two is not a polynomial of degree 12.
NAMES = [name for name in ONE_ARGUMENT for _ in range(1 if name.startswith("He") else 3)]


def grow(choose: Choose, depth: int, r: int = 3) -> str:
    """Text of an expression whose operators and functions are nested at most `depth` deep."""
    if depth == 0 or choose(range(6)) == 0:
        return leaf(choose, r)

    def part() -> str:
        return grow(choose, depth - 1, r)

    match choose(["call"] * 4 + ["sum", "product"] * 3 + ["difference", "two"] * 2 + OTHERS):
        case "call":
            return f"{choose(NAMES)}({part()})"
        case "two":
            return f"{choose(TWO_ARGUMENTS)}({part()}, {part()})"
        case "sum":
            return f"{part()} + {part()}"
        case "difference":
            return f"{part()} - ({part()})"
        case "product":
            return f"({part()})*({part()})"
        case "minus":
            return f"-({part()})"
        case "scaled":
            return f"{choose(NUMBERS[1:])}*({part()})"
        case "power":
            return f"({part()}){choose(['**', '^'])}{choose(range(5))}"
        case "quotient":
            return f"({part()})/({part()})"
        case "over":  # denominators that never vanish
            return f"({part()})/({choose(['1', '2', '0.5'])} + ({part()})**2)"
        case "inside":  # log and sqrt of something positive
            return f"{choose(['log', 'sqrt'])}({choose(['0.5', '1', '2'])} + ({part()})**2)"
        case "singular":
            return f"{choose(['log', 'sqrt'])}(abs({part()}))"
        case "bell":
            return f"exp(-({part()})**2/{choose([1, 2, 3])})"
        case other:
            raise AssertionError(other)


OTHERS = ["minus", "scaled", "scaled", "power", "quotient", "over", "inside", "singular", "bell"]


def leaf(choose: Choose, r: int) -> str:
    """A variable (mostly) or a constant."""
    names = ["z", *(f"z{i}" for i in range(1, r + 1))]
    return choose([*names * 3, "pi", choose(NUMBERS)])


def chooser(rng: np.random.Generator) -> Choose:
    """Decisions of a seeded generator."""
    return lambda options: options[int(rng.integers(len(options)))]


def sample(rng: np.random.Generator, *, depth: int = 4, r: int = 3) -> str:
    """One random text; it may be a constant, have a pole, or be refused for another reason."""
    choose = chooser(rng)
    return grow(choose, choose(range(1, depth + 1)), choose(range(1, r + 1)))


def samples(count: int, *, seed: int, depth: int = 4, r: int = 3) -> list[str]:
    """Different random texts that the language accepts."""
    rng = np.random.default_rng(seed)
    found: dict[str, None] = {}
    while len(found) < count:
        text = sample(rng, depth=depth, r=r)
        try:
            Expression(text)
        except TargetError:
            continue
        found[text] = None
    return list(found)


@st.composite
def expressions(draw: Any, depth: int = 4, r: int = 3) -> str:
    """Hypothesis strategy of the same grammar."""
    return grow(lambda options: draw(st.sampled_from(list(options))), depth, r)


@st.composite
def latent_expressions(draw: Any, depth: int = 3, r: int = 2, q: int = 2) -> str:
    """The same with latent noise: some of the variables are xi1 ... xiq."""
    text = draw(expressions(depth, r + q))
    names = {f"z{r + i}": f"xi{i}" for i in range(1, q + 1)}
    return re.sub(r"z\d", lambda match: names.get(match[0], match[0]), text)
