"""Plans: which algorithm learns a target, from how much data."""

from .plan import Plan as Plan
from .plan import plan as plan
from .row import PlanRow as PlanRow
