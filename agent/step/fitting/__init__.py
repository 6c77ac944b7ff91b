"""Make a prompt fit a small window: what is shortened, in which order, and which window is too small."""
