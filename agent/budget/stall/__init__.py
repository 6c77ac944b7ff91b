"""Detect runs that repeat themselves."""
