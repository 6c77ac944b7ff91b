"""The main screen, and the dialogs for help and leaving."""
