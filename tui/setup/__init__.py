"""From flags, config and environment to the spec of a run."""
