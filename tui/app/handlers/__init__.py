"""Handlers of the actions. Importing this package does not import textual."""
