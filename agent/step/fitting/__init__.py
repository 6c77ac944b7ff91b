"""Fit a prompt into a small window: what is shortened, in which order, and which window is too small."""
