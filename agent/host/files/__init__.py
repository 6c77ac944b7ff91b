"""Read and write workspace files: without following links, atomically, and only if they did not change meanwhile."""
