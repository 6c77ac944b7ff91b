"""The client side of a run, for views: start the runner, send commands, read events."""
