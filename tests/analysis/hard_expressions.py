"""Random expressions that take long to analyze: many kinks, deep compositions, mixtures."""

import numpy as np

DEEPER = [
    "exp(-({u})**2)",
    "tanh({u})",
    "sin(3*({u}))",
    "abs({u} - 0.3)",
    "He3(tanh({u}))",
    "({u})**2/(1 + ({u})**2)",
    "cos(exp(tanh({u})))",
    "exp(sin({u}))",
    "{u} + {v}",
    "max({u}, {v})",
    "sigmoid(9*({u}))",
]
TERMS = [
    "tanh({product})",
    "sign({product})",
    "{product}",
    "He2({sum})",
    "relu({sum})",
    "sin({sum})*({product})",
    "exp(-({sum})**2)",
    "abs({product})",
    "max({all}, 0.5*{first})",
    "cos({product})",
    "step({sum} - 0.5)",
    "erf(5*({product}))",
    "({sum})**3",
]


def many_kinks(rng: np.random.Generator) -> str:
    """Sum of twenty to seventy functions of one variable each."""
    r = rng.integers(1, 4)
    parts = [
        f"{rng.choice(['abs', 'relu', 'sign', 'step', 'tanh'])}"
        f"({rng.choice(['', '2*', '-'])}z{rng.integers(1, r + 1)} - {rng.integers(1, 99)}/37)"
        for _ in range(rng.integers(20, 70))
    ]
    return " + ".join(parts)


def composition(rng: np.random.Generator) -> str:
    """Three to eight functions inside each other."""
    r = rng.integers(1, 4)
    text = f"z{rng.integers(1, r + 1)}"
    for _ in range(rng.integers(3, 9)):
        text = str(rng.choice(DEEPER)).format(u=text, v=f"z{rng.integers(1, r + 1)}")
    return text


def mixture(rng: np.random.Generator) -> str:
    """Two to four functions of some of three to five variables."""
    r = rng.integers(3, 6)
    terms = []
    for _ in range(rng.integers(2, 5)):
        chosen = rng.permutation(np.arange(1, r + 1))[: rng.integers(1, r + 1)]
        names = [f"z{i}" for i in chosen]
        terms.append(
            str(rng.choice(TERMS)).format(
                product="*".join(names), sum=" + ".join(names), all=", ".join(names), first=names[0]
            )
        )
    return " + ".join(terms)
