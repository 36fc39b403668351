"""The recipes as worker processes import them: with all that a cell may need, loaded once.

Workers are forked from a process that has imported this module, so none of them waits for learners
and theories to be imported.
"""

from ._warm import READY as READY
from .recipes import compute as compute
