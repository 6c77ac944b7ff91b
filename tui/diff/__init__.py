"""Changes of a file: compared, highlighted, and shown in a pane of which only what is in sight is drawn."""

from .contents import diff_of
from .model import Diff, Hunk, Row
from .pane import DiffPane
from .sheet import HunkMark
from .unified import diff_of_text

__all__ = ["Diff", "DiffPane", "Hunk", "HunkMark", "Row", "diff_of", "diff_of_text"]
