"""Check a run's spec against this machine and assemble what the run works with."""
