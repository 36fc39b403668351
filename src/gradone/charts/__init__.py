r"""Charts: one description of a picture, for papers and for screens.

>>> from gradone.charts import Axis, Chart, line
>>> Chart("", Axis(r"$\alpha$"), Axis("overlap"), (line("theory", [0, 1], [0, 1]),)).x.scale
'linear'
"""

from __future__ import annotations

from ._chart import Chart as Chart
from ._chart import Legend as Legend
from ._chart import Panels as Panels
from ._chart import load as load
from ._curves import AXES as AXES
from ._curves import WORDS as WORDS
from ._curves import average as average
from ._draw import draw as draw
from ._draw import draw_first as draw_first
from ._labels import plain_text as plain_text
from ._looks import DASHES as DASHES
from ._looks import MARKERS as MARKERS
from ._looks import legend_of as legend_of
from ._named import CHARTS as CHARTS
from ._page import script as script
from ._palette import CYCLE as CYCLE
from ._palette import PALETTE as PALETTE
from ._palette import check_color as check_color
from ._palette import color_of as color_of
from ._palette import ordered_colors as ordered_colors
from ._save import check_path as check_path
from ._series import Axis as Axis
from ._series import Series as Series
from ._series import Style as Style
from ._series import band as band
from ._series import bar as bar
from ._series import heat as heat
from ._series import hline as hline
from ._series import line as line
from ._series import points as points
from ._series import vline as vline
