"""Figures and claims of the literature, each made again by one call.

>>> import gradone as gd
>>> "parity-amp" in gd.gallery.names()
True
"""

from __future__ import annotations

from ._atlas import Atlas as Atlas
from ._atlas import Entry as Entry
from ._atlas import atlas as atlas
from ._figure import FIGURES as FIGURES
from ._figure import Claim as Claim
from ._figure import GalleryFigure as GalleryFigure
from ._reproduce import Reproduction as Reproduction
from ._reproduce import names as names
from ._reproduce import reproduce as reproduce
from ._verdict import SKIPPED as SKIPPED
from ._verdict import Number as Number
from ._verdict import Verdict as Verdict
