"""Make a clean checkout of a run's result: its files, its dependency folders, its repository."""
