"""The two lines at the top: what and who, and what is left."""

from .line import HeaderLine, MeterLine

__all__ = ["HeaderLine", "MeterLine"]
