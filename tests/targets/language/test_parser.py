"""The language accepts its grammar and nothing else, and says what is wrong and where."""

import pickle

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gradone.base.errors import GradoneError, TargetError, TargetSyntaxError
from gradone.targets.language.expression import Expression
from gradone.targets.language.functions import FUNCTIONS
from gradone.targets.language.parser import parse
from gradone.targets.language.printing import text_of

from .grammar import expressions

HOSTILE = [
    "__import__('os').system('true')",
    "().__class__.__bases__[0].__subclasses__()",
    "z1.__class__",
    "z1.__init__.__globals__",
    "__builtins__",
    "__name__",
    "_",
    "__",
    "getattr(z1, 'real')",
    "eval('z1')",
    "exec('z1 = 2')",
    "compile('z1', '', 'eval')",
    "open('/etc/passwd')",
    "globals()",
    "breakpoint()",
    "print(z1)",
    "lambda: z1",
    "lambda z1: z1",
    "(lambda: 0)()",
    "z1 if z1 else z2",
    "[z1 for z1 in (1, 2)]",
    "{z1: z2}",
    "{z1}",
    "[z1]",
    "(z1, z2)",
    "z1[0]",
    "z1.real",
    "tanh.__doc__",
    "*z1",
    "**z1",
    "tanh(*z1)",
    "tanh(**z1)",
    "tanh(x=z1)",
    "(z1 := 2)",
    "z1 = 2",
    "z1 == z2",
    "z1 < z2",
    "z1 and z2",
    "not z1",
    "z1 in z2",
    "z1 // 2",
    "z1 % 2",
    "z1 @ z2",
    "z1 << 2",
    "z1 | z2",
    "z1 & z2",
    "~z1",
    "z1; z2",
    "z1\nz2",
    "z1\tz2",
    "z1\r",
    "z1 # comment",
    "z1 \\\n",
    "z1 + '1'",
    '"z1"',
    "f'{z1}'",
    "f'{__import__(\"os\")}'",
    "b'z1'",
    "`z1`",
    "$z1",
    "z1?",
    "z1!",
    "True",
    "False*z1",
    "None",
    "Ellipsis",
    "...",
    "NotImplemented",
    "await z1",
    "yield z1",
    "import os",
    "del z1",
    "assert z1",
    "class",
    "def",
    "1j*z1",
    "0x10*z1",
    "0b1*z1",
    "0o7*z1",
    "1_000*z1",
    "1e999*z1",
    "1e-999*z1",
    "-1e999 + z1",
    "1e99999999999999999999999999*z1",
    "1" * 29 + "*z1",
    "9" * 5000,
    "1.1.1*z1",
    "1..real",
    "inf*z1",
    "nan + z1",
    "9**9**9**9",
    "z1**9**9**9",
    "(((z1**12)**12)**12)",
    "He12(He12(z1))",
    "He2(He2(He2(He2(He2(z1)))))",
    "z1**13",
    "z1**-1",
    "z1**0.5",
    "z1**z1",
    "z1**(z2 - z2 + 2*pi)",
    "2**z1",
    "exp(exp(z1))",
    "exp(exp(exp(exp(z1))))",
    "exp(z1**2)",
    "exp(1e6)*z1",
    "He13(z1)",
    "He-1(z1)",
    "He(z1)",
    "He01(z1)",
    "z0",
    "z10",
    "z01",
    "Z1",
    "h1",
    "z1z2",
    "2z1",
    "z1(z2)",
    "pi(z1)",
    "(z1)(z2)",
    "()",
    ")",
    "(",
    ")(",
    ",",
    "tanh(",
    "tanh()",
    "tanh(,)",
    "tanh(z1,)",
    "max(z1)",
    "+",
    "z1 +",
    "* z1",
    "z1 ** ** 2",
    "",
    " ",
    "\x00",
    "z1\x00",
    "z1\x1b[31m",
    "z1\x7f",
    "\ud800",
    "z1 + \udcff",
    "\ufeffz1",
    "z\u00b9",  # superscript one
    "z\u2081",  # subscript one
    "\uff5a1",  # full-width z
    "z\uff11",  # full-width 1
    "z\u0661",  # Arabic-Indic one
    "z1 \u2212 z2",  # minus sign
    "z1 \u00d7 z2",  # multiplication sign
    "z1\u00b2",
    "\u03c0*z1",  # Greek pi
    "t\u0430nh(z1)",  # Cyrillic a
    "z1\u00a0+ z2",  # no-break space
    "z1\u200b",  # zero-width space
    "z1 \u202e+ z2",  # right-to-left override
    "\U0001d6d1",
    "(" * 26 + "z1" + ")" * 26,
    "(" * 10000,
    ")" * 10000,
    "-" * 10000 + "z1",
    "tanh(" * 2000 + "z1" + ")" * 2000,
    "z1" * 500000,
    "z1+" * 400000 + "z1",
    "+".join(["z1*z2"] * 330),
    "z1/0",
    "z1/(1 - 1)",
    "0*z1",
    "z1 - z1",
    "3",
    "pi",
    "1/z1",
    "sqrt(z1)",
    "log(z1)",
    "sqrt(-1)*z1",
    "z1/(sqrt(4) - 2)",
    "log(0)*z1",
]


@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: ascii(text[:30]))
def test_hostile_text_is_refused_with_our_own_error(text):
    """Would catch: `eval`, a Python name that gets through, an exception of another kind."""
    with pytest.raises(GradoneError) as caught:
        Expression(text)
    assert 0 < len(str(caught.value)) < 1000
    assert str(caught.value).isascii()


@pytest.mark.parametrize("value", [None, 3, 2.5, b"z1", ["z1"], object()])
def test_only_text_is_an_expression(value):
    """Would catch: str() applied to anything that comes along."""
    with pytest.raises(TargetSyntaxError, match="must be text"):
        Expression(value)


def test_the_error_of_the_house():
    """Would catch: a column that counts from 0, a marker of the wrong width, a lost hint."""
    with pytest.raises(TargetSyntaxError) as caught:
        Expression("He2(z1) + sgn(z1*z2*z3)")
    shown = f"{type(caught.value).__name__}: {caught.value}"
    assert shown.startswith(
        "TargetSyntaxError: unknown function 'sgn' in the target, column 11:\n"
        "    He2(z1) + sgn(z1*z2*z3)\n"
        "              ^~~\n"
        "Known functions: He0..He12, abs, "
    )
    assert shown.endswith(", step, tanh. Did you mean 'sign'?")
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("text", "column", "problem"),
    [
        ("z1 + x1", 6, "unknown name 'x1'"),
        ("  z1 + x1", 8, "unknown name 'x1'"),
        ("z1 + tanh", 6, "'tanh' is a function"),
        ("z1 +", 5, "ends too early"),
        ("z1 + (z2", 6, "never closed"),
        ("tanh(z1 z2)", 9, r"expected '\)' before 'z2'"),
        ("z1 + z2)", 8, r"unmatched '\)'"),
        ("z1, z2", 3, "unexpected ','"),
        ("2z1", 2, "expected an operator before 'z1'"),
        ("z1 % 2", 4, "unexpected character '%'"),
        ("z1*/z2", 4, "unexpected '/'"),
        ("z2**13", 5, "integer from 0 to 12"),
        ("z2**z1", 5, "integer from 0 to 12"),
        ("z1 + 1e7", 6, "too large"),
        ("z1 + max(z1)", 6, "'max' takes 2 arguments or more, got 1"),
        ("tanh(z1, z2)", 1, "'tanh' takes one argument, got 2"),
        ("z1 + He12(z1**3)", 6, "composed degree exceeds 24"),
        ("z1 + z2/0", 8, "division by zero"),
        ("z1 + \u03c0", 6, r"character '\\u03c0' is not allowed"),
        ("(" * 26 + "z1" + ")" * 26, 26, "nested more than 25 deep"),
        ("z1" + "-" * 30 + "z2", 3, "run of 30 or more"),
        ("z1" + "+1" * 300, None, "more than 600 parts"),
        ("z1" + " " * 2000, None, "has 2002 characters, at most 2000"),
        ("*".join(["123456"] * 25) + "*z1", 1, "more than 100 digits"),
    ],
)
def test_an_error_points_at_its_place(text, column, problem):
    """Would catch: the column of the next token, or of the start of the expression."""
    with pytest.raises(TargetSyntaxError, match=problem) as caught:
        parse(text)
    if column is not None:
        assert caught.value.column == column
        shown, marker = str(caught.value).split("\n")[1:3]
        at = marker.index("^") - 4
        assert shown[4:][at : at + 1].strip() in ("", "?") or text[column - 1] == shown[4 + at]


@pytest.mark.parametrize(
    ("text", "underlined"),
    [
        ("z1 + sgn(z2)", "sgn"),
        ("z1 + z1^^2", "^"),
        ("z1***z2", "*"),
        ("  z1" + "-" * 30 + "z2", "-" * 30),
        ("z1 + 1e7", "1e7"),
        ("z1 + max(z1)", "max"),
        ("z1 +", ""),
    ],
)
def test_an_error_knows_what_it_underlines(text, underlined):
    """Would catch: '^' counted as '**'; the width of one mark for a whole run; a lost margin."""
    with pytest.raises(TargetSyntaxError) as caught:
        parse(text)
    error = caught.value
    assert text[error.column - 1 : error.column - 1 + error.width] == underlined
    shown, marker = str(error).split("\n")[1:3]
    assert shown[marker.index("^") : len(marker)] == underlined


def test_a_long_text_is_shown_around_its_problem():
    """Would catch: two thousand characters in a message, or a marker outside the window."""
    text = "z1 + " * 200 + "oops + " + "z1 + " * 50 + "z1"
    with pytest.raises(TargetSyntaxError) as caught:
        parse(text)
    shown, marker = str(caught.value).split("\n")[1:3]
    assert len(shown) <= 84
    assert shown[marker.index("^") : marker.rindex("~") + 1] == "oops"


def test_an_error_survives_a_process_boundary():
    """Would catch: an exception that cannot be pickled and kills a worker pool."""
    with pytest.raises(TargetSyntaxError) as caught:
        parse("z1 + sgn(z2)")
    copy = pickle.loads(pickle.dumps(caught.value))
    assert (str(copy), vars(copy)) == (str(caught.value), vars(caught.value))


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("z", "z1"),
        ("+z1", "z1"),
        ("--z1", "z1"),
        ("-z1**2", "-z1**2"),
        ("(-z1)**2", "z1**2"),
        ("2**2**3*z1", "256*z1"),
        ("z1^2", "z1**2"),
        ("z1**(1 + 1)", "z1**2"),
        ("z1**+2", "z1**2"),
        ("z1**0 + z2", "z2 + 1"),
        ("z1/2/4", "z1/8"),
        ("z1/(2/4)", "2*z1"),
        ("z1 - z2 - z3", "z1 - z2 - z3"),
        ("z1 - (z2 - z3)", "z1 - z2 + z3"),
        ("1 - 2*(1 - z1)", "2*z1 - 1"),
        (".5*z1", "z1/2"),
        ("5.*z1", "5*z1"),
        ("1e2*z1 + 1E-2", "100*z1 + 0.01"),
        ("He1(z1) + He0(z2)", "z1 + 1"),
        ("relu(-3) + abs(-2)*z1", "2*z1"),
        ("max(z2, z1)", "max(z1, z2)"),
        ("max(z1, z1)", "z1"),
        ("z1/exp(z1)", "exp(-z1)*z1"),
        ("z1 * (1/(1 + z2**2))", "z1/(z2**2 + 1)"),
        ("(tanh(z1)**12)**2", "tanh(z1)**12*tanh(z1)**12"),
        ("z1+z1", "2*z1"),
        ("  z1  *  z2  ", "z1*z2"),
    ],
)
def test_grammar(text, canonical):
    """Would catch: minus that binds tighter than a power, powers that group to the left."""
    assert text_of(parse(text)) == canonical


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_is_read(name):
    """Would catch: a function in the table that the tokens cannot spell."""
    arguments = "z1*z2, 1 - z3" if FUNCTIONS[name].arity == 2 else "1 + z1**2"
    tree = parse(f"{name}({arguments}) + z9")
    assert parse(text_of(tree)) == tree


def test_the_limits_themselves_are_allowed():
    """Would catch: limits that are off by one."""
    parse("(" * 25 + "z1" + ")" * 25)
    parse("z1" + "-" * 29 + "z2")
    parse("1" * 6 + ".5*z1")
    parse("1e6*z1")
    parse("z1" + "+1" * 299)
    parse("z1**12*z2**12")
    parse("He12(z1**2)")
    parse("z1 + z2".ljust(2000))
    assert max(Expression("+".join(f"z{i}" for i in range(1, 10))).variables) == 9


def test_outer_functions_use_their_own_letter():
    """Would catch: z accepted where the features of a hierarchical target are meant."""
    assert text_of(parse("tanh(3*h) + h2", letter="h")) == "tanh(3*h1) + h2"
    with pytest.raises(TargetSyntaxError, match="Variables are h1 to h9"):
        parse("tanh(z1)", letter="h")


@given(st.text(max_size=60))
@settings(max_examples=300, deadline=None)
def test_any_text_gives_an_expression_or_our_error(text):
    """Would catch: a character that slips past the tokens."""
    try:
        Expression(text)
    except TargetError:
        pass


@given(st.text(alphabet="z12.e+-*/^(), pisqrtanhHe0", max_size=40))
@settings(max_examples=300, deadline=None)
def test_any_text_of_our_own_letters_gives_an_expression_or_our_error(text):
    """Would catch: a combination of legal tokens that crashes the parser."""
    try:
        Expression(text)
    except TargetError:
        pass


@given(expressions())
@settings(max_examples=150, deadline=None)
def test_canonical_text_reads_back_to_the_same_tree(text):
    """Would catch: missing brackets, lost signs, exponents and numbers that cannot be typed."""
    try:
        tree = parse(text)
    except TargetError:
        return
    assert parse(text_of(tree)) == tree
    assert text_of(parse(text_of(tree))) == text_of(tree)


@pytest.mark.parametrize(
    ("text", "meant"),
    [("z1z2", "z1*z2"), ("1 + z1z2z3", "z1*z2*z3"), ("pi*z0", "z1"), ("xi1z2", "xi1*z2")],
)
def test_variables_without_a_sign_between_them(text, meant):
    """Would catch: the nearest name, 'z1', in place of what was meant."""
    with pytest.raises(TargetSyntaxError) as caught:
        parse(text, latent=True)
    assert f"Did you mean '{meant}'?" in str(caught.value)
