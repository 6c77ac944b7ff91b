"""Carry out commands of the user: undo, rewind, shell commands, manual control, changes of limits."""
