"""A multilayer perceptron of scikit-learn on the axes of Bayes-AMP and random features."""

from sklearn.neural_network import MLPRegressor

import gradone as gd


def main() -> gd.Chart:
    """Theories as lines, the perceptron as points."""
    mine = gd.Algorithm(MLPRegressor(hidden_layer_sizes=(64,), alpha=1.0), label="perceptron")
    algorithms = ["bayes_amp", "random_features", mine]
    curves = gd.compare("He2(z1) + z1*z2", algorithms, d=40, alpha=[1.0, 2.0, 4.0], replicates=1)
    return gd.draw("error-vs-alpha", curves)
