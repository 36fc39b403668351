"""What the processes of the lab need, made once by the process that they are forked from."""

from threadpoolctl import threadpool_limits

from ..analysis import analyze as analyze
from ..analysis import plan as plan
from ..experiments import _warm as simulations
from ..report import Study as Study
from . import answers as answers
from . import pictures as pictures
from . import streams as streams

# What every target uses is computed here too, by one thread: others would not survive a fork.
with threadpool_limits(1):
    READY = (simulations.READY, answers.warm_up())
