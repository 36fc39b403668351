"""The linear stage of one-pass SGD: which rule escapes from a random start, how fast, how."""

from .stage import LinearStage as LinearStage
from .table import EscapeTable as EscapeTable
from .table import escape as escape
from .table import escape_table as escape_table
