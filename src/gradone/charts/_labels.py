r"""Labels: plain text with formulas between dollars, in a small subset of LaTeX.

Both renderers must show the same label. Matplotlib reads formulas with its mathtext; plotly reads
them only through a script from the network, so they become its HTML: Greek letters as Unicode,
indices as ``<sub>``. A command outside the subset is refused when a label is made.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ..base.errors import BadData, did_you_mean

_GREEK = dict(
    zip(
        "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau "
        "upsilon phi chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega "
        "varepsilon varphi ell".split(),
        "αβγδϵζηθικλμνξπρστυϕχψωΓΔΘΛΞΠΣΦΨΩεφℓ",
        strict=True,
    )
)
_SYMBOLS = _GREEK | {
    "star": "⋆", "ast": "∗", "cdot": "⋅", "times": "×", "otimes": "⊗", "circ": "∘", "pm": "±",
    "infty": "∞", "partial": "∂", "nabla": "∇", "sum": "∑", "prod": "∏", "int": "∫", "to": "→",
    "rightarrow": "→", "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥", "neq": "≠", "approx": "≈",
    "simeq": "≃", "sim": "∼", "propto": "∝", "equiv": "≡", "ll": "≪", "gg": "≫", "in": "∈",
    "perp": "⊥", "top": "⊤", "langle": "⟨", "rangle": "⟩", "|": "‖", "{": "{", "}": "}",
    "prime": "′", "ldots": "…", "dots": "…", "cdots": "⋯", "mid": "|", "lfloor": "⌊",
    "rfloor": "⌋", "%": "%", "_": "_",
}  # fmt: skip
# What stands outside formulas as LaTeX has it.
_TO_LATEX = {symbol: f"$\\{name}$" for name, symbol in _SYMBOLS.items() if not symbol.isascii()}
_TO_LATEX |= {c: f"\\{c}" for c in "%&#_{}"} | {"<": "$<$", ">": "$>$", "|": "$|$"}
_TO_LATEX |= {"→": r"$\to$", "…": r"\ldots{}", "√": r"$\surd$", "^": r"\^{}", "~": r"\~{}"}
# Mathtext knows most symbols by their LaTeX names; these have another one there.
_MATHTEXT = {"mid": "|", "dots": r"\ldots", "le": r"\leq", "ge": r"\geq", "prime": "'"}
_OPERATORS = frozenset("+-=<>≤≥≠≈≃∼∝≡≪≫∈→±×|")
_FUNCTIONS = frozenset("arctan cos cosh det exp inf lim log ln max min sin sinh sup tanh".split())
_SPACES = {",": "\u2009", ";": "\u2005", ":": "\u2005", "!": "", "quad": "\u2003", " ": " "}
_ACCENTS = {"hat": "\u0302", "tilde": "\u0303", "bar": "\u0304", "dot": "\u0307", "vec": "\u20d7"}
_FONTS = {"mathrm", "mathbf", "mathbb", "mathcal", "mathit", "operatorname", "text"}
_DOUBLE_STRUCK = {"C": "ℂ", "E": "𝔼", "N": "ℕ", "P": "ℙ", "R": "ℝ", "S": "𝕊", "V": "𝕍", "Z": "ℤ"}
_KNOWN = sorted(
    {*_SYMBOLS, *_FUNCTIONS, *_SPACES, *_ACCENTS, *_FONTS, "frac", "sqrt", "left", "right"}
)
_TOKEN = re.compile(r"\\(?:[A-Za-z]+|.)|[{}^_]|[^\\{}^_]", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Node:
    """Part of a formula: what it is, its own text, and the parts below it."""

    kind: str
    text: str = ""
    parts: tuple[tuple[_Node, ...], ...] = ()


def check_label(text: str) -> str:
    r"""The label itself, if both renderers can show it.

    Examples
    --------
    >>> check_label(r"overlap $q_{11}^{\star}$")
    'overlap $q_{11}^{\\star}$'
    >>> check_label(r"$\foo$")
    Traceback (most recent call last):
    gradone.base.errors.BadData: unknown command '\foo' in the label '$\foo$'. ...
    """
    if not isinstance(text, str):
        raise BadData(f"a label is text, got {text!r}")
    for part, is_formula in _split(text):
        if is_formula:
            _read(part, text)
    return text


def to_mathtext(text: str) -> str:
    r"""A label as matplotlib reads it.

    Examples
    --------
    >>> to_mathtext(r"$\frac1n\operatorname{sign}(\hat f)$")
    '$\\frac{1}{n}\\mathrm{sign}(\\hat{f})$'
    """
    return "".join(
        f"${_mathtext(_read(part, text))}$" if is_formula else part
        for part, is_formula in _split(text)
    )


def to_html(text: str) -> str:
    r"""A label as plotly reads it.

    Examples
    --------
    >>> to_html(r"overlap $q_{11}^{\star}$ & more")
    'overlap <i>q</i><sub>11</sub><sup>⋆</sup> &amp; more'
    >>> to_html(r"$\log n/\log d = \sqrt{d+1}$")
    'log\u2009<i>n</i>/log\u2009<i>d</i> = √(<i>d</i> + 1)'
    """
    parts = [
        _html(_read(part, text)) if is_formula else html.escape(part, quote=False)
        for part, is_formula in _split(text)
    ]
    return "".join(parts)


def to_latex(text: str) -> str:
    r"""A label as LaTeX reads it.

    Examples
    --------
    >>> to_latex(r"50 % of $q_{11}$, d → ∞")
    '50 \\% of $q_{11}$, d $\\to$ $\\infty$'
    """
    return "".join(
        f"${part}$" if is_formula else "".join(_TO_LATEX.get(c, c) for c in part)
        for part, is_formula in _split(text)
    )


def plain_text(text: str) -> str:
    r"""A label as a terminal shows it.

    Examples
    --------
    >>> plain_text(r"$\alpha_c=\pi^2/4$ of $q_{11}$")
    'α_c = π^2/4 of q_11'
    """
    marked = to_html(text).replace("<sub>", "_").replace("<sup>", "^")
    return html.unescape(re.sub(r"</?\w+>", "", marked))


def _split(text: str) -> list[tuple[str, bool]]:
    """Parts of a label and whether each is a formula."""
    parts = text.split("$")
    if len(parts) % 2 == 0:
        raise BadData(f"a '$' is missing in the label '{text}': formulas stand between two dollars")
    for plain in parts[::2]:
        if "\\" in plain:
            raise BadData(f"write the command in {plain!r} between dollars: '$\\alpha$'")
    return [(part, i % 2 == 1) for i, part in enumerate(parts) if part]


@lru_cache(maxsize=1024)
def _read(formula: str, label: str) -> tuple[_Node, ...]:
    nodes, rest = _Reader(label).nodes(_TOKEN.findall(formula), closing=False)
    if rest:
        raise BadData(f"a '}}' too many in the label '{label}'")
    opened = sum(node.text == "left" for node in _all(nodes) if node.kind == "fence")
    closed = sum(node.text == "right" for node in _all(nodes) if node.kind == "fence")
    if opened != closed:
        raise BadData(rf"\left and \right do not match in the label '{label}'")
    return tuple(nodes)


def _all(nodes: Sequence[_Node]) -> list[_Node]:
    below = [inner for node in nodes for part in node.parts for inner in _all(part)]
    return [*nodes, *below]


class _Reader:
    """Recursive descent over the tokens of one formula."""

    def __init__(self, label: str) -> None:
        self.label = label

    def nodes(self, tokens: list[str], *, closing: bool) -> tuple[list[_Node], list[str]]:
        found: list[_Node] = []
        while tokens:
            if tokens[0] == "}":
                return (found, tokens[1:]) if closing else (found, tokens)
            if tokens[0] in "^_":
                mark, tokens = tokens[0], tokens[1:]
                script, tokens = self.argument(tokens, f"'{mark}'")
                found.append(_Node("sup" if mark == "^" else "sub", parts=(script,)))
                continue
            node, tokens = self.one(tokens)
            if node is not None:
                found.append(node)
        if closing:
            raise BadData(f"a '}}' is missing in the label '{self.label}'")
        return found, tokens

    def argument(self, tokens: list[str], owner: str) -> tuple[tuple[_Node, ...], list[str]]:
        """What stands in braces, or the one thing that follows."""
        while tokens and tokens[0].isspace():
            tokens = tokens[1:]
        if not tokens or tokens[0] in ("}", "^", "_"):
            raise BadData(f"{owner} has nothing after it in the label '{self.label}'")
        if tokens[0] == "{":
            inside, tokens = self.nodes(tokens[1:], closing=True)
            return tuple(inside), tokens
        node, tokens = self.one(tokens)
        return (() if node is None else (node,)), tokens

    def one(self, tokens: list[str]) -> tuple[_Node | None, list[str]]:
        token, tokens = tokens[0], tokens[1:]
        if token == "{":  # noqa: S105 - a brace, not a secret
            group, tokens = self.nodes(tokens, closing=True)
            return _Node("group", parts=(tuple(group),)), tokens
        if not token.startswith("\\"):
            return (None if token.isspace() else _Node("char", token)), tokens
        name = token[1:]
        if name in _SPACES:
            return _Node("space", name), tokens
        if name in _SYMBOLS:
            return _Node("symbol", name), tokens
        if name in _FUNCTIONS:
            return _Node("function", name), tokens
        if name in ("left", "right"):
            if not tokens or tokens[0].lstrip("\\") not in {*"()[]|.{}", "langle", "rangle"}:
                raise BadData(f"{token} needs a bracket after it in the label '{self.label}'")
            return _Node("fence", name, ((_Node("char", tokens[0]),),)), tokens[1:]
        if name == "frac":
            top, tokens = self.argument(tokens, token)
            bottom, tokens = self.argument(tokens, token)
            return _Node("frac", parts=(top, bottom)), tokens
        if name in _ACCENTS or name in _FONTS or name == "sqrt":
            inside, tokens = self.argument(tokens, token)
            kind = "sqrt" if name == "sqrt" else "accent" if name in _ACCENTS else "font"
            return _Node(kind, name, (inside,)), tokens
        raise BadData(
            f"unknown command '{token}' in the label '{self.label}'."
            f"{did_you_mean(name, _KNOWN)} Known: {' '.join(_KNOWN)}."
        )


def _mathtext(nodes: Sequence[_Node]) -> str:
    return "".join(_TO_MATHTEXT[node.kind](node) for node in nodes)


def _mathtext_symbol(node: _Node) -> str:
    # A space ends the name: '\alpha' followed by 'd' is not '\alphad'.
    return _MATHTEXT.get(node.text, f"\\{node.text}") + (" " if node.text.isalpha() else "")


def _mathtext_font(node: _Node) -> str:
    name = "mathrm" if node.text in ("operatorname", "text") else node.text
    text = f"\\{name}{{{_mathtext(node.parts[0])}}}"
    return f"\\mathrm{{{text}}}" if name == "mathbb" else text  # upright, as LaTeX has it


_TO_MATHTEXT: dict[str, Callable[[_Node], str]] = {
    "char": lambda node: node.text,
    "symbol": _mathtext_symbol,
    "function": lambda node: f"\\{node.text} ",
    "space": lambda node: f"\\{node.text}" + (" " if node.text.isalpha() else ""),
    "group": lambda node: f"{{{_mathtext(node.parts[0])}}}",
    "sub": lambda node: f"_{{{_mathtext(node.parts[0])}}}",
    "sup": lambda node: f"^{{{_mathtext(node.parts[0])}}}",
    "frac": lambda node: f"\\frac{{{_mathtext(node.parts[0])}}}{{{_mathtext(node.parts[1])}}}",
    "sqrt": lambda node: f"\\sqrt{{{_mathtext(node.parts[0])}}}",
    "accent": lambda node: f"\\{node.text}{{{_mathtext(node.parts[0])}}}",
    "font": _mathtext_font,
    "fence": lambda node: f"\\{node.text}{node.parts[0][0].text}",
}


def _html(nodes: Sequence[_Node], *, upright: bool = False, tight: bool = False) -> str:
    """HTML of a formula; `tight` leaves out the spaces around operators, as indices do."""
    text = ""
    for i, node in enumerate(nodes):
        piece = _html_one(node, upright=upright, tight=tight)
        if node.kind == "function" and i + 1 < len(nodes) and _is_operand(nodes[i + 1]):
            piece += "\u2009"
        elif _symbol(node) in _OPERATORS and not tight:
            before, after = i > 0 and not text.endswith(("(", "[", " ")), i + 1 < len(nodes)
            # A sign at the beginning belongs to what follows.
            piece = f"{' ' if before else ''}{piece}{' ' if before and after else ''}"
        text += piece
    return text.replace("</i><i>", "")


def _is_operand(node: _Node) -> bool:
    return node.kind not in ("sub", "sup", "fence", "space") and node.text not in ("(", "[")


def _symbol(node: _Node) -> str:
    return _SYMBOLS[node.text] if node.kind == "symbol" else node.text


def _html_one(node: _Node, *, upright: bool, tight: bool) -> str:
    match node.kind:
        case "char" | "symbol":
            return _html_symbol(_symbol(node), upright=upright)
        case "function":
            return node.text
        case "space":
            return _SPACES[node.text]
        case "fence":
            bracket = node.parts[0][0].text.lstrip("\\")
            return "" if bracket == "." else html.escape(_SYMBOLS.get(bracket, bracket))
    inside = _html(node.parts[0], upright=upright, tight=tight)
    match node.kind:
        case "sub" | "sup":
            return f"<{node.kind}>{_html(node.parts[0], upright=upright, tight=True)}</{node.kind}>"
        case "frac":
            below = _html(node.parts[1], upright=upright, tight=tight)
            return f"{_in_brackets(inside, node.parts[0])}/{_in_brackets(below, node.parts[1])}"
        case "sqrt":
            return f"√{_in_brackets(inside, node.parts[0])}"
        case "accent":
            # The mark combines with the letter before it, so it stands inside its tag.
            mark = _ACCENTS[node.text]
            return f"{inside[:-4]}{mark}</i>" if inside.endswith("</i>") else f"{inside}{mark}"
        case "font":
            return _html_font(node, inside)
        case _:
            return inside


def _html_symbol(character: str, *, upright: bool) -> str:
    shown = {"-": "−", "*": "∗", "'": "′"}.get(character, html.escape(character, quote=False))
    is_italic = character.isalpha() and not upright and character not in "ΓΔΘΛΞΠΣΦΨΩ"
    return f"<i>{shown}</i>" if is_italic else shown


def _html_font(node: _Node, inside: str) -> str:
    if node.text == "mathit":
        return inside
    text = _html(node.parts[0], upright=True)
    if node.text == "mathbb":
        return "".join(_DOUBLE_STRUCK.get(character, character) for character in text)
    return f"<b>{text}</b>" if node.text == "mathbf" else text


def _in_brackets(inside: str, nodes: Sequence[_Node]) -> str:
    """A part in brackets, unless it is one thing with its indices or one number."""
    things = [node for node in nodes if node.kind not in ("sub", "sup", "space")]
    is_one = len(things) <= 1 or all(node.text.isdigit() for node in things)
    return inside if is_one else f"({inside})"
