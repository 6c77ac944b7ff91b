"""The environment variables and the sandbox of a run's commands."""
