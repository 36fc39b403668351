"""Estimators of a stranger: some work, the others do what strangers do."""

import time

import numpy as np


class LeastSquares:
    """Not of scikit-learn: no get_params, fit returns nothing, predictions by a hidden vector."""

    def __init__(self, ridge=1e-6):
        self.ridge = ridge

    def fit(self, X, y):
        gram = X.T @ X + self.ridge * np.eye(X.shape[1])
        self._hidden = np.linalg.solve(gram, X.T @ y)

    def predict(self, X):
        return X @ self._hidden


class Told(LeastSquares):
    """Tells its direction in a way of its own."""

    def told(self):
        return self._hidden


def told_directions(fitted):
    return fitted.told()


class Seeded(LeastSquares):
    """Predicts its seed."""

    def __init__(self, random_state=None):
        super().__init__()
        self.random_state = random_state

    def predict(self, X):
        return np.full(len(X), self.random_state / 2**31)


class Endless(LeastSquares):
    def fit(self, X, y):
        time.sleep(3600)


class Boundless(LeastSquares):
    def fit(self, X, y):
        hoard = []
        while True:
            hoard.append(np.ones(10**6))
            time.sleep(0.001)


class Raises(LeastSquares):
    def fit(self, X, y):
        return secret_step(X)


def secret_step(X):
    raise RuntimeError("no step was found")


class WrongShape(LeastSquares):
    def predict(self, X):
        return np.zeros((len(X), 1))


class NotANumber(LeastSquares):
    def predict(self, X):
        return np.full(len(X), np.nan)


class NoPredict:
    def fit(self, X, y):
        return self


class Forgetful(LeastSquares):
    def __init__(self, width):
        super().__init__()


def least_squares(X, y):
    w = np.linalg.lstsq(X, y, rcond=None)[0]
    return {"weights": w[None], "predict": lambda X: X @ w}


def random_answer(X, y, random_state):
    answer = np.random.default_rng(random_state).standard_normal()
    return lambda X: np.full(len(X), answer)


def raises(X, y):
    raise RuntimeError("no step was found")


def forgets(X, y):
    pass
