"""Fit a prompt into the model's window: what is shortened, in which order, and which window is too small."""
