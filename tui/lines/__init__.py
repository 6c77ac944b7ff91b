"""A widget over very many lines of which only those in sight are drawn; what the transcript and the diff stand on."""

from .draw import Run, breaks, fold, marked, to_strip
from .heights import Heights
from .parts import Line, Part, Place
from .stack import SparseStack
from .view import LineView

__all__ = ["Heights", "Line", "LineView", "Part", "Place", "Run", "SparseStack", "breaks", "fold", "marked", "to_strip"]
