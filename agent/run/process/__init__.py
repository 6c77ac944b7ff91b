"""The runner process: claim a run, drive it, read commands, and park."""
