"""What the processes of the lab need, imported once by the process that they are forked from."""

from ..analysis import analyze as analyze
from ..analysis import plan as plan
from ..experiments import _warm as simulations
from ..report import Study as Study
from . import answers as answers
from . import pictures as pictures
from . import streams as streams

READY = simulations.READY
