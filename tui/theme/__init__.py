"""Colour depth of the terminal, and themes of the user."""
