"""Text that the user types at the gate: a reason, or a new version of the file."""
