"""Carry out what the user asks of a run: undo, rewind, shell commands, manual control, new limits."""
