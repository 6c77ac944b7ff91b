"""Fit a replacement block into a file: find its place, and the lines to write there."""
