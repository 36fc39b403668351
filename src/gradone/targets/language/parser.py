"""From text to tree: a small hand-written parser that accepts this language and nothing else.

Grammar (``^`` means ``**``; spaces do not matter)::

    sum     = product { ("+" | "-") product }
    product = signed { ("*" | "/") signed }
    signed  = ("+" | "-") signed | power
    power   = atom [ "**" signed ]            exponent: an integer 0..12
    atom    = number | "pi" | variable | function "(" sum { "," sum } ")" | "(" sum ")"

Functions that abbreviate a formula are replaced by it (`abbreviations.py`).
Variables of a target are ``z1 ... z9``, and ``xi1 ... xi9`` for noise that nobody sees.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

from ...base.errors import TargetSyntaxError, did_you_mean
from .abbreviations import ABBREVIATIONS
from .functions import FUNCTIONS, call
from .printing import text_of
from .tree import (
    ZERO,
    Call,
    Node,
    Number,
    Pi,
    Power,
    Sum,
    Variable,
    add,
    children,
    negate,
    number,
    power,
    ratio,
)

MAX_LENGTH = 2000
MAX_BRACKETS = 25
MAX_RUN = 30
MAX_NODES = 600
MAX_NESTING = 100
MAX_EXPONENT = 12
MAX_DEGREE = 24
MAX_VALUE = 10**6
MAX_VARIABLES = 9
LATENT = "xi"
# Printing and reading back must stay possible: 100 digits are 17 brackets of 6 digits each.
MAX_BITS = 333

_TOKEN = re.compile(
    r"(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r"|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<operator>\*\*|[-+*/^(),])"
    r"|(?P<space> +)"
    r"|(?P<unknown>.)",
    re.ASCII,
)
_NAMES = (*FUNCTIONS, *ABBREVIATIONS)
_KNOWN_FUNCTIONS = "He0..He12, " + ", ".join(n for n in sorted(_NAMES) if n[:2] != "He")


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str
    column: int
    width: int = 1


def parse(text: str, *, letter: str = "z", what: str = "the target", latent: bool = False) -> Node:
    """Tree of an expression.

    Parameters
    ----------
    text : str
        At most 2000 printable ASCII characters.
    letter : str
        Letter of the variables: ``z`` for targets and activations, ``h`` for outer functions.
    what : str
        What errors call the text.
    latent : bool
        Whether latent noise ``xi`` may occur.

    Raises
    ------
    TargetSyntaxError
        With the column of the problem and what to do.

    Examples
    --------
    >>> from gradone.targets.language.printing import text_of
    >>> text_of(parse("z2^2 + z1*2 + He2(z)"))
    'He2(z1) + 2*z1 + z2**2'
    """
    if not isinstance(text, str):
        raise TargetSyntaxError(f"an expression must be text, got {type(text).__name__}")
    _refuse_unreadable(text, what)
    return _Parser(text, letter, what, latent).parse()


def _refuse_unreadable(text: str, what: str) -> None:
    """Refuse before parsing what no sensible expression contains."""
    if len(text) > MAX_LENGTH:
        raise TargetSyntaxError(
            f"the expression has {len(text)} characters, at most {MAX_LENGTH} are allowed"
        )
    if not text.strip():
        raise TargetSyntaxError(
            "the expression is empty", hint="Write a function of z1, z2, ..., for example He2(z1)."
        )
    depth = 0
    for column, character in enumerate(text, start=1):
        if not " " <= character <= "~":
            raise TargetSyntaxError(
                f"character {ascii(character)} is not allowed",
                re.sub(r"[^ -~]", "?", text),
                column=column,
                hint="Use only printable ASCII: letters, digits, + - * / ^ ( ) , and spaces.",
                what=what,
            )
        depth += (character == "(") - (character == ")")
        if depth > MAX_BRACKETS:
            raise TargetSyntaxError(
                f"brackets are nested more than {MAX_BRACKETS} deep",
                text,
                column=column,
                what=what,
            )
    start = len(text) - len(text.lstrip())
    run = re.search(rf"[-+*/^ ]{{{MAX_RUN},}}|[\d.]{{{MAX_RUN},}}", text.strip())
    if run and run.group().strip():
        raise TargetSyntaxError(
            f"a run of {MAX_RUN} or more signs or digits",
            text,
            column=start + run.start() + 1,
            width=len(run.group()),
            what=what,
        )


class _Parser:
    def __init__(self, text: str, letter: str, what: str, latent: bool) -> None:
        self.text, self.letter, self.what = text, letter, what
        self.letters = (letter, LATENT) if latent else (letter,)
        self.tokens = self._tokens()
        self.position = self.count = self.nesting = 0
        self.degrees: dict[Node, int] = {}
        self.extents: dict[Node, tuple[int, int]] = {}
        self.abbreviation: _Token | None = None

    # ---- tokens

    def _tokens(self) -> list[_Token]:
        found = []
        for match in _TOKEN.finditer(self.text):
            kind, column = str(match.lastgroup), match.start() + 1
            if kind == "unknown":
                self._fail(
                    f"unexpected character '{match.group()}'",
                    _Token(kind, match.group(), column),
                    "Allowed: numbers, pi, variables, functions, + - * / ** ^ ( ) and commas.",
                )
            if kind != "space":
                word = "**" if match.group() == "^" else match.group()
                found.append(_Token(kind, word, column, len(match.group())))
        found.append(_Token("end", "", len(self.text.rstrip()) + 1))
        return found

    @property
    def token(self) -> _Token:
        return self.tokens[self.position]

    def _take(self, *texts: str) -> _Token | None:
        """Next token if it is one of `texts`."""
        token = self.token
        if token.kind == "operator" and token.text in texts:
            self.position += 1
            return token
        return None

    def _fail(self, problem: str, token: _Token, hint: str = "") -> NoReturn:
        raise TargetSyntaxError(
            problem,
            self.text,
            column=token.column,
            width=token.width,
            hint=hint,
            what=self.what,
        )

    # ---- grammar

    def parse(self) -> Node:
        tree = self._sum()
        token = self.token
        if token.kind != "end":
            if token.text == ")":
                self._fail("unmatched ')'", token, "Remove it, or open it with '('.")
            if token.text == ",":
                self._fail("unexpected ','", token, "Commas separate the arguments of a function.")
            self._fail(
                f"expected an operator before '{token.text}'", token, "Write a product as 2*z1."
            )
        if self.abbreviation:
            self._refuse_unreadable_formula(tree, self.abbreviation)
        return tree

    def _sum(self) -> Node:
        first = self.token
        terms = [self._product()]
        while operator := self._take("+", "-"):
            term = self._product()
            terms.append(term if operator.text == "+" else negate(term))
            self._count(operator)
        return self._bounded(add(terms), first) if len(terms) > 1 else terms[0]

    def _product(self) -> Node:
        first = self.token
        tops: list[Node] = [self._signed()]
        bottoms: list[Node] = []
        while operator := self._take("*", "/"):
            factor = self._signed()
            if operator.text == "/" and factor == ZERO:
                self._fail("division by zero", operator, "Divide by something that is never zero.")
            (bottoms if operator.text == "/" else tops).append(factor)
            self._count(operator)
        if len(tops) + len(bottoms) == 1:
            return tops[0]
        return self._bounded(ratio(tops, bottoms), first)

    def _signed(self) -> Node:
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            self._fail(f"the expression is nested more than {MAX_NESTING} deep", self.token)
        if operator := self._take("+", "-"):
            value = self._signed()
            value = negate(value) if operator.text == "-" else value
            self._count(operator)
        else:
            value = self._power()
        self.nesting -= 1
        return value

    def _power(self) -> Node:
        first = self.token
        base = self._atom()
        if not self._take("**"):
            return base
        start = self.token
        exponent = self._signed()
        if not (
            isinstance(exponent, Number)
            and exponent.value.denominator == 1
            and 0 <= exponent.value <= MAX_EXPONENT
        ):
            self._fail(
                f"an exponent must be an integer from 0 to {MAX_EXPONENT}",
                start,
                "Write roots as sqrt(z1), negative powers as 1/(1 + z1**2), exponentials as "
                "exp(z1).",
            )
        self._count(start)
        return self._bounded(power(base, int(exponent.value)), first)

    def _atom(self) -> Node:
        token = self.token
        if token.kind != "end":
            self.position += 1
        self._count(token)
        if token.kind == "number":
            return self._number(token)
        if token.kind == "name":
            return self._named(token)
        if token.text == "(":
            value = self._sum()
            self._close(token)
            return value
        if token.kind == "end":
            self._fail("the expression ends too early", token, "Something is missing here.")
        self._fail(f"unexpected '{token.text}'", token, "Write a number, variable or function.")

    def _number(self, token: _Token) -> Node:
        mantissa, _, exponent = token.text.lower().partition("e")
        if abs(int(exponent or 0)) > MAX_RUN or abs(Fraction(token.text)) > MAX_VALUE:
            self._fail("the number is too large or has too many digits", token, "At most 1e6.")
        return number(Fraction(token.text))

    def _named(self, token: _Token) -> Node:
        name = token.text
        if name == "pi":
            return Pi()
        if variable := re.fullmatch(rf"({'|'.join(self.letters)})([1-{MAX_VARIABLES}]?)", name):
            letter, index = variable.groups()
            return Variable(letter, int(index or 1))
        if name in _NAMES:
            return self._call(token)
        self._unknown(token)

    def _unknown(self, token: _Token) -> NoReturn:
        name, letter = token.text[:40], self.letter
        known = ["pi", *(f"{letter}{i}" for i in range(1, MAX_VARIABLES + 1)), *_NAMES]
        if self.tokens[self.position].text == "(":
            self._fail(
                f"unknown function '{name}'",
                token,
                f"Known functions: {_KNOWN_FUNCTIONS}.{did_you_mean(name, _NAMES)}",
            )
        if re.fullmatch(rf"{LATENT}[1-{MAX_VARIABLES}]?", name):
            self._fail(
                f"latent noise '{name}'",
                token,
                f"Only the formula of a target may contain {LATENT}; this one is a function of "
                f"{letter} alone.",
            )
        self._fail(
            f"unknown name '{name}'",
            token,
            f"Variables are {letter}1 to {letter}{MAX_VARIABLES} ({letter} means {letter}1); "
            f"the only constant is pi.{self._respelled(name) or did_you_mean(name, known)}",
        )

    def _respelled(self, name: str) -> str:
        """Suggestion for variables without a sign between them, and for one counted from 0."""
        one = rf"(?:{'|'.join(self.letters)})[1-{MAX_VARIABLES}]?|pi"
        if re.fullmatch(rf"(?:{one})+", name):
            return f" Did you mean '{'*'.join(re.findall(one, name))}'?"
        return f" Did you mean '{self.letter}1'?" if name == f"{self.letter}0" else ""

    def _call(self, token: _Token) -> Node:
        name = token.text
        example = f"Write {name}({', '.join(self._example(name))})."
        if not (bracket := self._take("(")):
            self._fail(f"'{name}' is a function", token, example)
        arguments = [self._sum()]
        while self._take(","):
            arguments.append(self._sum())
        self._close(bracket)
        arity = len(self._example(name))
        takes_more = name in ("max", "min")
        if len(arguments) != arity and not (takes_more and len(arguments) > arity):
            words = "one argument" if arity == 1 else f"{arity} arguments"
            words = f"{words} or more" if takes_more else words
            self._fail(f"'{name}' takes {words}, got {len(arguments)}", token, example)
        if name in FUNCTIONS:
            node = call(name, *arguments)
        else:
            self.abbreviation = token
            node = ABBREVIATIONS[name][1](*arguments)
        self._refuse_overgrown(node, token)
        return self._bounded(node, token)

    def _example(self, name: str) -> list[str]:
        """Arguments that a function may have."""
        if name in ABBREVIATIONS:
            return [a.replace("z", self.letter) for a in ABBREVIATIONS[name][0]]
        return [f"{self.letter}{i}" for i in range(1, FUNCTIONS[name].arity + 1)]

    def _close(self, opening: _Token) -> None:
        if not self._take(")"):
            if self.token.kind == "end":
                self._fail("this bracket is never closed", opening, "Add ')'.")
            self._fail(f"expected ')' before '{self.token.text}'", self.token)

    # ---- limits

    def _count(self, token: _Token) -> None:
        self.count += 1
        if self.count > MAX_NODES:
            self._fail(f"the expression has more than {MAX_NODES} parts", token)

    def _bounded(self, node: Node, token: _Token) -> Node:
        """Refuse what passes part by part: ``He12(He12(z1))``, constants that grow and grow."""
        if self._degree(node) > MAX_DEGREE:
            self._fail(f"the composed degree exceeds {MAX_DEGREE}", token, "Use lower powers.")
        terms = node.terms if isinstance(node, Sum) else (node,)
        for part in (part for term in terms for part in (term, *children(term)[:1])):
            if isinstance(part, Number) and _bits(part.value) > MAX_BITS:
                self._fail("a constant of more than 100 digits", token, "Use shorter numbers.")
        return node

    def _refuse_overgrown(self, node: Node, token: _Token) -> None:
        """Refuse formulas that double with each call, and a maximum of hundreds of parts."""
        parts, depth = self._extent(node)
        if parts > MAX_NODES or depth > MAX_NESTING:
            self._fail(
                f"'{token.text}' written out has more than {MAX_NODES} parts, or is nested more "
                f"than {MAX_NESTING} deep",
                token,
            )

    def _extent(self, node: Node) -> tuple[int, int]:
        """How many parts a node has, equal ones counted each time, and how deep they are nested."""
        if node not in self.extents:
            inside = [self._extent(part) for part in children(node)]
            self.extents[node] = (
                1 + sum(parts for parts, _ in inside),
                1 + max((depth for _, depth in inside), default=0),
            )
        return self.extents[node]

    def _refuse_unreadable_formula(self, tree: Node, token: _Token) -> None:
        """The canonical text of what was abbreviated must be one that can be typed."""
        try:
            parse(text_of(tree), letter=self.letter, latent=True)
        except TargetSyntaxError as problem:
            reason = str(problem).partition(" in the target")[0]
            self._fail(
                f"with '{token.text}' written out, the expression cannot be read: {reason}", token
            )

    def _degree(self, node: Node) -> int:
        if node not in self.degrees:
            parts = [self._degree(part) for part in children(node)]
            match node:
                case Variable():
                    degree = 1
                case Power(exponent=exponent):
                    degree = parts[0] * exponent
                case Call(name=name):
                    degree = max(parts) * max(FUNCTIONS[name].degree, 1)
                    if not FUNCTIONS[name].degree and FUNCTIONS[name].growing == "bounded":
                        degree = min(degree, 1)
                case Sum():
                    degree = max(parts)
                case _:
                    degree = sum(parts)
            self.degrees[node] = degree
        return self.degrees[node]


def _bits(value: Fraction) -> int:
    return max(abs(value.numerator), value.denominator).bit_length()
