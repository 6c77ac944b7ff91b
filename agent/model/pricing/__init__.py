"""Prices and context sizes, read from litellm's table."""
