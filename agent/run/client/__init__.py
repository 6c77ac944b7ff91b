"""A view's side of a run: start the runner, send commands, read events."""
