"""Reports: everything about one target in a single HTML file that needs no network."""

from .study import Study as Study
from .study import study as study
