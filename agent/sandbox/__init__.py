"""The sandbox for commands: bubblewrap or Landlock, what it hides, and what it makes read-only."""
