"""Hierarchical targets: functions of a few nonlinear features of many hidden directions.

========================  ====================================================================
:class:`Sight`            one feature h of D directions, ``y = g(h)``
:class:`Might`            several features of disjoint sets of directions
:class:`Tree`             features of features, level above level
:class:`QuadraticForms`   as many quadratic forms of the input as it has dimensions
========================  ====================================================================
"""

from .deep_tree import Tree as Tree
from .hierarchy import HierarchicalTarget as HierarchicalTarget
from .quadratic_forms import QuadraticForms as QuadraticForms
from .sight import Might as Might
from .sight import Sight as Sight
