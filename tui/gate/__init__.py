"""The gate: docked above the message box, never a dialog."""
