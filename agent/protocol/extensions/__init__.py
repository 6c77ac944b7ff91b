"""Types of what users add to rundry: skills and hooks."""
