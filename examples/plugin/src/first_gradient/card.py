"""The card: all that the surfaces of gradone must know."""

from gradone.algorithms import Algorithm


class FirstGradientCard(Algorithm):
    """The first gradient: its theory and its learner under one name, in one color."""

    label, color, family = "first gradient", "#5b2a86", "giant"
    theory, learner = "first_gradient_cosine", "first_gradient_direction"
