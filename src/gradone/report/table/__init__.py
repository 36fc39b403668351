"""Reports on tables: what a feature learner finds in a file, compared and drawn."""

from __future__ import annotations

from .fit import TableFit as TableFit
from .fit import fit_prepared as fit_prepared
from .fit import fit_table as fit_table
from .prepare import Prepared as Prepared
from .prepare import prepare as prepare
