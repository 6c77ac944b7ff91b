"""The transcript of a run."""
