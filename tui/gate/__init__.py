"""The gate: docked above the message box, never a dialog."""

from .panel import GatePanel

__all__ = ["GatePanel"]
