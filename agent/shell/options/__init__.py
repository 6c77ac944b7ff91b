"""Which options of programs are harmless, and where the command of a launcher begins."""

from .launching import Launch, launch
from .table import unlisted

__all__ = ["Launch", "launch", "unlisted"]
