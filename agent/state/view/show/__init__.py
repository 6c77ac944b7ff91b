"""Fold events into a `ViewState`."""
