"""The gate: docked above the message box, never a dialogue."""

from .panel import GatePanel

__all__ = ["GatePanel"]
