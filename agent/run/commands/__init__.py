"""Carry out commands of the person: undo, rewind, shell commands, manual control, changes of limits."""
