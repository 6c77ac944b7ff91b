"""Make the spec of a run from flags, config and environment."""
