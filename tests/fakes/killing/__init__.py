"""Processes that kill themselves at a chosen point, and what they leave."""
