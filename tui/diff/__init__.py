"""Compare the contents of a file, highlight them, and show the difference in a pane that draws only visible rows."""

from .contents import diff_of
from .layout import HunkClicked, HunkMoved
from .model import Diff, Hunk, Row
from .pane import DiffPane
from .renderer import HunkMark
from .unified import diff_of_text

__all__ = ["Diff", "DiffPane", "Hunk", "HunkClicked", "HunkMark", "HunkMoved", "Row", "diff_of", "diff_of_text"]
