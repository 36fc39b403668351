"""Algorithms: one card for each, with all that a surface must know about it.

>>> from gradone.algorithms import ALGORITHMS
>>> card = ALGORITHMS["giant_step"]()
>>> card.label, card.theory, card.learner
('giant gradient step', 'one_step', 'giant_step')
"""

from ._card import ALGORITHMS as ALGORITHMS
from ._card import Algorithm as Algorithm
from ._card import Picture as Picture
from ._card import Slider as Slider
from ._cards import all_cards as all_cards
from ._cards import card_of as card_of
from ._cards import learner_of as learner_of
from ._cards import look_of as look_of
from ._run import Run as Run
