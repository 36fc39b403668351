"""What children of a comparison need, imported once by the process that they are forked from."""

import numba as numba
import xarray as xr

from ..algorithms import all_cards
from ..base.replicates import mean_over_replicates as mean_over_replicates
from ..dynamics import sgd as sgd
from ..learners import LEARNERS
from ..theory import THEORIES
from . import entrants as entrants
from . import simulate as simulate

SHOWN = [card for card in all_cards() if card.prominence != "asked" or card.picture]
READY = (
    *(THEORIES[card.theory] for card in SHOWN if card.theory),
    *(LEARNERS[card.learner] for card in SHOWN if card.learner),
)
FIRST = xr.Dataset({"q": ("alpha", [0.0])}, {"alpha": [0.0]})  # which imports the rest of xarray
