"""Pairwise covering designs: few configurations in which every two choices meet."""

import itertools

import numpy as np


def covering_design(factors, *, size, seed=0, candidates=300):
    """Configurations that cover all pairs of levels, then as many triples as `size` allows.

    Greedy and deterministic: each row is the one of some random rows that brings most new pairs,
    and among those most new triples; half of the candidates are made to hold a pair that is
    missing.
    """
    rng = np.random.default_rng(seed)
    names, levels = list(factors), [len(values) for values in factors.values()]
    missing = {2: _subsets(levels, 2), 3: _subsets(levels, 3)}
    rows = []
    while missing[2] or len(rows) < size:
        best = None
        wanted = sorted(missing[2])
        for i in range(candidates):
            row = [int(rng.integers(n)) for n in levels]
            if wanted and i % 2:
                for column, level in wanted[int(rng.integers(len(wanted)))]:
                    row[column] = level
            gain = tuple(len(missing[k] & _held(row, k)) for k in (2, 3))
            if best is None or gain > best[0]:
                best = gain, row
        rows.append(best[1])
        for k in missing:
            missing[k] -= _held(best[1], k)
    return [
        {name: factors[name][level] for name, level in zip(names, row, strict=True)} for row in rows
    ]


def _subsets(levels, k):
    """All choices of k columns with a level each."""
    return {
        tuple(zip(columns, chosen, strict=True))
        for columns in itertools.combinations(range(len(levels)), k)
        for chosen in itertools.product(*(range(levels[c]) for c in columns))
    }


def _held(row, k):
    return set(itertools.combinations(enumerate(row), k))
