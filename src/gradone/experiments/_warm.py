"""What children of a comparison need, imported once by the process that they are forked from."""

import numba as numba
import xarray as xr

from ..base.replicates import mean_over_replicates as mean_over_replicates
from ..dynamics import sgd as sgd
from ..learners import LEARNERS
from ..theory import THEORIES
from . import entrants as entrants
from . import simulate as simulate

READY = (len(THEORIES), len(LEARNERS))  # to count the things of a room is to import them
EMPTY = xr.Dataset({"q": ("alpha", [0.0])}, {"alpha": [0.0]})  # the first one imports the rest
