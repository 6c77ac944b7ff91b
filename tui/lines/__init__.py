"""A widget for a very long list of lines, of which only the visible ones are drawn. Transcript and diff pane use it."""

from .draw import Run, breaks, fold, marked, to_strip
from .heights import Heights
from .parts import Line, Part, Place
from .stack import SparseStack
from .view import LineView

__all__ = ["Heights", "Line", "LineView", "Part", "Place", "Run", "SparseStack", "breaks", "fold", "marked", "to_strip"]
