"""Files that a tool, an editor, a shell or an agent loads when it starts in a folder."""

from .table import why_auto_loaded

__all__ = ["why_auto_loaded"]
