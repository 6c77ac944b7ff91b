"""Start commands, limit them, and end them with all their child processes."""
