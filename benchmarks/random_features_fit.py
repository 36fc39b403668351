"""How long fits of random features take against what they are made of (CPU time).

Run: python benchmarks/random_features_fit.py [--json FILE]. At n = 20000, d = 400, width 600, tanh
and one ridge, the limit is 1.3 times the matrix products, the activation and one Cholesky factor,
written out with NumPy in memory that is there already; scikit-learn's pipeline must not be faster.
Peak memory beyond X is measured as well: all features are 96 MB.
"""

import tracemalloc

import numpy as np
from _timing import Jobs, interleaved_best, options, report
from scipy.linalg import cho_factor, cho_solve
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from gradone.learners import RandomFeatures, RandomFeaturesClassifier

N, D, WIDTH = 20_000, 400, 600
BARE = "products, tanh, Cholesky"


def main() -> None:
    arguments = options(__doc__).parse_args()
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, D))
    y = X[:, 0] + rng.standard_normal(N)
    W = rng.standard_normal((WIDTH, D)) / np.sqrt(D)

    features, gram = np.empty((N, WIDTH)), np.empty((WIDTH, WIDTH))

    def bare() -> np.ndarray:
        np.matmul(X, W.T, out=features)
        np.tanh(features, out=features)
        np.matmul(features.T, features, out=gram)
        gram[np.diag_indices(WIDTH)] += WIDTH
        return cho_solve(cho_factor(gram), features.T @ y)

    pipeline = make_pipeline(FunctionTransformer(lambda X: np.tanh(X @ W.T)), Ridge(alpha=WIDTH))
    learner = RandomFeatures(WIDTH, activation="tanh(z)", random_state=0)
    single, ridges = X.astype(np.float32), np.logspace(-3, 3, 13)
    small = slice(0, 800)
    jobs: Jobs = {
        BARE: bare,
        "RandomFeatures": lambda: learner.fit(X, y),
        "scikit-learn pipeline": lambda: pipeline.fit(X, y),
        "RandomFeatures, float32": lambda: learner.fit(single, y),
        "RandomFeatures, 13 ridges": lambda: learner.fit_path(X, y, ridges),
    } | {
        f"{loss}, n = 800": lambda loss=loss: RandomFeaturesClassifier(  # type: ignore[misc]
            WIDTH, activation="tanh(z)", loss=loss, ridge=0.1, random_state=0
        ).fit(X[small], y[small] > 0)
        for loss in ("logistic", "hinge")
    }
    seconds = interleaved_best(jobs)
    megabytes = {
        name: peak_megabytes(jobs[name]) for name in ("RandomFeatures", "scikit-learn pipeline")
    }
    print(f"peak beyond X: {megabytes} MB")
    report(
        seconds,
        baseline=BARE,
        limit=1.3 * seconds[BARE],
        file=arguments.json,
        megabytes=megabytes,
    )


def peak_megabytes(job: object) -> float:
    """Largest memory during a job beyond what there was before it."""
    tracemalloc.start()
    job()  # type: ignore[operator]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return round(peak / 1e6, 1)


if __name__ == "__main__":
    main()
