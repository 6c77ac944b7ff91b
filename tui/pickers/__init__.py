"""Dialogs to pick a model or a session."""
