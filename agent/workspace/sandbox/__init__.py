"""The sandbox around commands: bubblewrap or Landlock, what it hides, and what it keeps read-only."""
