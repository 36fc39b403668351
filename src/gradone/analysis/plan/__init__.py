"""The science of plans: which data algorithms need, and what they learn; gd.plan collects it."""

from .case import Case as Case
from .correlation_rows import giant_step_rows as giant_step_rows
from .correlation_rows import kernel_row as kernel_row
from .correlation_rows import residual_row as residual_row
from .correlation_rows import sgd_row as sgd_row
from .depth_rows import depth_row as depth_row
from .plan import Plan as Plan
from .query_rows import amp_row as amp_row
from .query_rows import bounded_row as bounded_row
from .query_rows import reuse_row as reuse_row
from .query_rows import spectral_row as spectral_row
from .row import PlanRow as PlanRow
from .row import Sizes as Sizes
