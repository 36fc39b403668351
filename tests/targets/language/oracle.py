"""A second reader of the language that shares no code with gradone, for comparison in tests.

Python's own `ast` reads the text (only texts that our parser has accepted come here); an `Algebra`
says what numbers and functions are: NumPy arrays, or sympy expressions.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce
from typing import Any

import numpy as np
from scipy import special


@dataclass(frozen=True)
class Algebra:
    number: Callable[[Fraction], Any]
    pi: Any
    functions: dict[str, Callable[..., Any]]

    def apply(self, name: str, arguments: list[Any]) -> Any:
        if name.startswith("He"):
            return hermite(int(name[2:]), *arguments)
        return self.functions[name](*arguments)


def hermite(k: int, x: Any) -> Any:
    """Three-term recurrence of He_k."""
    previous, current = 0 * x, 0 * x + 1
    for j in range(k):
        previous, current = current, x * current - j * previous
    return current


def read(text: str, algebra: Algebra, variables: list[Any]) -> Any:
    """Value of a text in an algebra; ``variables[0]`` is z1."""
    text = text.strip().replace("^", "**")

    def visit(node: ast.AST) -> Any:
        match node:
            case ast.Expression(body=body):
                return visit(body)
            case ast.Constant():
                return algebra.number(Fraction(ast.get_source_segment(text, node) or ""))
            case ast.Name(id="pi"):
                return algebra.pi
            case ast.Name(id=name):
                return variables[int(name[1:] or 1) - 1]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -visit(operand)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return visit(operand)
            case ast.BinOp(left=left, op=ast.Pow(), right=right):
                return visit(left) ** int(Fraction(str(read(ast.unparse(right), EXACT, []))))
            case ast.BinOp(left=left, op=op, right=right):
                a, b = visit(left), visit(right)
                match op:
                    case ast.Add():
                        return a + b
                    case ast.Sub():
                        return a - b
                    case ast.Mult():
                        return a * b
                    case ast.Div():
                        return a / b
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return algebra.apply(name, [visit(argument) for argument in arguments])
        raise AssertionError(ast.dump(node))

    return visit(ast.parse(text, mode="eval"))


EXACT = Algebra(lambda value: value, None, {})

NUMPY = Algebra(
    lambda value: np.float64(float(value)),
    np.float64(np.pi),
    {
        "abs": np.abs,
        "cos": np.cos,
        "erf": special.erf,
        "exp": np.exp,
        "gelu": lambda x: x * special.ndtr(x),
        "log": np.log,
        "max": lambda *x: reduce(np.maximum, x),
        "min": lambda *x: reduce(np.minimum, x),
        "relu": lambda x: np.where(x > 0, x, 0.0),
        "sigmoid": special.expit,
        "sign": np.sign,
        "sin": np.sin,
        "softplus": lambda x: np.where(x > 0, x, 0.0) + np.log1p(np.exp(-np.abs(x))),
        "sqrt": np.sqrt,
        "step": lambda x: np.heaviside(x, 0.0),
        "tanh": np.tanh,
    },
)


def numpy_function(text: str) -> Callable[[list[np.ndarray]], np.ndarray]:
    """The text as a function of a list of columns."""

    def function(columns: list[np.ndarray]) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.asarray(read(text, NUMPY, columns), dtype=np.float64)

    return function


SMOOTH = ["tanh", "erf", "sigmoid", "softplus", "gelu", "exp"]


def switches(
    text: str, levels: tuple[float, ...] = ()
) -> Callable[[list[np.ndarray]], list[np.ndarray]]:
    """The values whose change of sign switches a branch: arguments of abs, sign, relu, ...

    And arguments of tanh, erf, ... minus the `levels`, between which these functions are smooth.
    """
    found: list[np.ndarray] = []

    def watched(name: str) -> Callable[..., Any]:
        def function(*arguments: Any) -> Any:
            value = arguments[0] - arguments[1] if len(arguments) == 2 else arguments[0]
            found.extend(value - level for level in (levels if name in SMOOTH else (0.0,)))
            return NUMPY.functions[name](*arguments)

        return function

    names = [
        "abs",
        "relu",
        "sign",
        "step",
        "log",
        "sqrt",
        "min",
        "max",
        *(SMOOTH if levels else []),
    ]
    watching = Algebra(
        NUMPY.number, NUMPY.pi, NUMPY.functions | {name: watched(name) for name in names}
    )

    def function(columns: list[np.ndarray]) -> list[np.ndarray]:
        found.clear()
        with np.errstate(all="ignore"):
            read(text, watching, columns)
        return [np.broadcast_to(x, columns[0].shape) for x in found if np.ndim(x)]

    return function
