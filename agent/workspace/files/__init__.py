"""Read and write workspace files: without following links, with comparison, and completely or not at all."""
