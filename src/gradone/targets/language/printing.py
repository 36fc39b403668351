"""From tree to canonical text (which parses back to the same tree) and to LaTeX."""

from __future__ import annotations

from fractions import Fraction

from .functions import FUNCTIONS
from .tree import Call, Node, Number, Pi, Power, Product, Quotient, Sum, Variable, fold

# How tightly a printed piece binds: what may stand next to it without brackets.
_SUM, _PRODUCT, _POWER, _ATOM = range(4)
_Piece = tuple[str, int]
_LIMB, _EXPONENT = 10**6, 12  # the largest literal and exponent that the parser accepts


def text_of(node: Node) -> str:
    """Canonical text of a tree.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> text_of(parse("0.5*He2(z1) - (z2 + z1)*z1/3"))
    'He2(z1)/2 - z1*(z1 + z2)/3'
    """
    return fold(node, _text)[0]


def latex_of(node: Node) -> str:
    r"""LaTeX of a tree, in the subset that KaTeX and matplotlib share.

    Examples
    --------
    >>> from gradone.targets.language.parser import parse
    >>> print(latex_of(parse("He2(z1)/2 + z2**2")))
    \frac{1}{2} \mathrm{He}_{2}\left(z_{1}\right) + z_{2}^{2}
    """
    return fold(node, _latex)[0]


def _text(node: Node, parts: list[_Piece]) -> _Piece:
    match node:
        case Number(value=value):
            return _signed(value, _number_text(abs(value)))
        case Pi():
            return "pi", _ATOM
        case Variable(letter=letter, index=index):
            return f"{letter}{index}", _ATOM
        case Power(exponent=exponent):
            base = _wrap(parts[0], _ATOM)
            exponents = [_EXPONENT] * (exponent // _EXPONENT) + [exponent % _EXPONENT]
            powers = [base if k == 1 else f"{base}**{k}" for k in exponents if k]
            return "*".join(powers), _POWER if len(powers) == 1 else _PRODUCT
        case Call(name="max" | "min"):
            return f"{node.name}({_flat(node, parts, f'{node.name}(', ')')})", _ATOM
        case Call(name=name):
            return f"{name}({', '.join(text for text, _ in parts)})", _ATOM
        case Quotient():
            return f"{_wrap(parts[0], _PRODUCT)}/{_wrap(parts[1], _POWER)}", _PRODUCT
        case Product(factors=(Number(value=value), *_)):
            factors = parts[1:]
            top, bottom = abs(value.numerator), value.denominator
            if bottom > 100 and (decimal := _decimal(abs(value))):
                text = "*".join([decimal, *(_wrap(part, _POWER) for part in factors)])
                return _signed(value, (text, _PRODUCT))
            text = "*".join(_wrap(part, _PRODUCT) for part in factors)
            if top != 1:  # 2/b, but 2*a/b
                text = _integer_text(top) + (text[1:] if text.startswith("1/") else f"*{text}")
            text = text if bottom == 1 else f"{text}/{_integer_text(bottom)}"
            return _signed(value, (text, _PRODUCT))
        case Product():
            return "*".join(_wrap(part, _POWER) for part in parts), _PRODUCT
        case Sum():
            return _joined(parts), _SUM
        case _:
            raise AssertionError(node)


def _latex(node: Node, parts: list[_Piece]) -> _Piece:
    match node:
        case Number(value=value):
            return _signed(value, _number_latex(abs(value)))
        case Pi():
            return r"\pi", _ATOM
        case Variable(letter=letter, index=index):
            name = letter if len(letter) == 1 else rf"\{letter}"  # xi is one letter in print
            return f"{name}_{{{index}}}", _ATOM
        case Power(exponent=exponent):
            return f"{_bracket(parts[0], _ATOM)}^{{{exponent}}}", _POWER
        case Call(name="max" | "min"):
            opening = rf"\{node.name}\left("
            return opening + _flat(node, parts, opening, r"\right)") + r"\right)", _ATOM
        case Call(name=name):
            text = FUNCTIONS[name].latex
            for i, (argument, _) in enumerate(parts, start=1):
                text = text.replace(f"#{i}", argument)
            return text, _ATOM
        case Quotient():
            return rf"\frac{{{parts[0][0]}}}{{{parts[1][0]}}}", _PRODUCT
        case Product(factors=(Number(value=value), *_)):
            text = r" \, ".join(_bracket(part, _PRODUCT) for part in parts[1:])
            size = "" if abs(value) == 1 else _number_latex(abs(value))[0] + " "
            return _signed(value, (size + text, _PRODUCT))
        case Product():
            return r" \, ".join(_bracket(part, _PRODUCT) for part in parts), _PRODUCT
        case Sum():
            return _joined(parts), _SUM
        case _:
            raise AssertionError(node)


def _flat(node: Call, parts: list[_Piece], opening: str, closing: str) -> str:
    """Arguments of a maximum; those of a maximum inside it stand beside them."""
    (first, _), (second, _) = parts
    if isinstance(rest := node.arguments[1], Call) and rest.name == node.name:
        second = second.removeprefix(opening).removesuffix(closing)
    return f"{first}, {second}"


def _signed(value: Fraction, piece: _Piece) -> _Piece:
    return (f"-{piece[0]}", _SUM) if value < 0 else piece


def _joined(parts: list[_Piece]) -> str:
    text = parts[0][0]
    for part, _ in parts[1:]:
        text += f" - {part[1:]}" if part.startswith("-") else f" + {part}"
    return text


def _wrap(piece: _Piece, needed: int) -> str:
    return piece[0] if piece[1] >= needed else f"({piece[0]})"


def _bracket(piece: _Piece, needed: int) -> str:
    return piece[0] if piece[1] >= needed else rf"\left({piece[0]}\right)"


def _integer_text(value: int) -> str:
    """Non-negative integer in literals that the parser accepts."""
    if value <= _LIMB:
        return str(value)
    head, tail = divmod(value, _LIMB)
    return f"({_integer_text(head)}*10**6{f' + {tail}' if tail else ''})"


def _decimal(value: Fraction) -> str:
    """Finite decimal text of a non-negative fraction, or '' if there is none of 25 digits."""
    for digits in range(1, 26):
        scaled = value * 10**digits
        if scaled.denominator == 1 and value < _LIMB:
            text = str(int(scaled)).zfill(digits + 1)
            return f"{text[:-digits]}.{text[-digits:]}" if len(text) < 29 else ""
    return ""


def _number_text(size: Fraction) -> _Piece:
    if size.denominator == 1:
        return _integer_text(size.numerator), _ATOM
    if decimal := _decimal(size):
        return decimal, _ATOM
    return f"{_integer_text(size.numerator)}/{_integer_text(size.denominator)}", _PRODUCT


def _number_latex(size: Fraction) -> _Piece:
    if size.denominator == 1:
        return str(size.numerator), _ATOM
    if size.denominator > 100 and (decimal := _decimal(size)):
        return decimal, _ATOM
    return rf"\frac{{{size.numerator}}}{{{size.denominator}}}", _PRODUCT
