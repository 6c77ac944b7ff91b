"""The state of a run in its runner: requests of the user, waits, pauses and running work."""
