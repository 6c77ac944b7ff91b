"""Run commands with limits, and end them together with all their child processes."""
