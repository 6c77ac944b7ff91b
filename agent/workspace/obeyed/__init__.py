"""The files that a tool, an editor, a shell or an agent obeys when it is started in a folder."""

from .table import reason

__all__ = ["reason"]
