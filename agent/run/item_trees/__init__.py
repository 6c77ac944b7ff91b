"""The worktrees of a migration with `--parallel`, and the merges of their changes into the run's tree."""
