"""Data on programs' options: which are harmless, and where a launcher's own options end."""

from .launching import Launch, launch
from .table import unlisted

__all__ = ["Launch", "launch", "unlisted"]
