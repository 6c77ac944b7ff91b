"""Run the hooks of the user and of the project on events of a run."""
