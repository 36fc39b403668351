"""Tables of files: reading their columns, turning them into numbers, predicting new rows."""

from __future__ import annotations

from .encoding import TableEncoder as TableEncoder
from .encoding import encoder_of as encoder_of
from .reading import read_table as read_table
from .table import Column as Column
from .table import Table as Table
