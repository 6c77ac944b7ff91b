"""Connections to model servers."""
