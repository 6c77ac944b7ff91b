"""Record, compare and restore the state of a git repository, and commit passes."""
