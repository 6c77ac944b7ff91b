"""Lists that grow with a run and keep only their newest items in memory."""
