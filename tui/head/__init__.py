"""The two lines at the top: what and who, and what is left."""

from .line import HeaderLine, MeterLine, PieceLine

__all__ = ["HeaderLine", "MeterLine", "PieceLine"]
