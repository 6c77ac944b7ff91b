"""Dialogs that open above the main screen."""
