"""What can be known about a hierarchical target before learning it.

=========================  ===================================================================
:func:`level_exponents`    information exponents of every level, compositional ones included
:func:`energies`           energy of the label in each degree of the directions
:func:`checklist`          assumptions of the depth theorem, one by one
:func:`plateau`            excess error of lazy, two-layer, three-layer and deep learners
:func:`plateau_steps`      the whole staircase of the excess error
:func:`required_exponent`  power of d that each of them needs
:func:`learning_stages`    the same, layer by layer
:func:`obstacles`          why directions or features are not found at these powers
:func:`non_gaussianity`    how far a given dimension is from the large-d formulas
=========================  ===================================================================
"""

from .activation_conditions import random_bias_energies as random_bias_energies
from .checklist import checklist as checklist
from .compositional import DegreeEnergies as DegreeEnergies
from .compositional import LevelExponents as LevelExponents
from .compositional import energies as energies
from .compositional import level_exponents as level_exponents
from .condition import Condition as Condition
from .exponents import LEARNERS as LEARNERS
from .exponents import DepthLearner as DepthLearner
from .exponents import LearningStage as LearningStage
from .exponents import learning_stages as learning_stages
from .exponents import non_gaussianity as non_gaussianity
from .exponents import obstacles as obstacles
from .exponents import required_exponent as required_exponent
from .plateaus import PlateauStep as PlateauStep
from .plateaus import plateau as plateau
from .plateaus import plateau_steps as plateau_steps
