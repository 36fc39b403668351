"""Laws of the inputs, one file for each; ``gd.inputs`` has them by name."""

from ._law import LAWS as LAWS
from ._law import Law as Law
from ._law import as_law as as_law
from ._names import inputs as inputs
