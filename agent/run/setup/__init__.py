"""Check the spec of a run on this machine, and assemble the objects that drive the run."""
