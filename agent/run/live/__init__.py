"""The state of a run in its runner: requests of the person, waits, pauses and running work."""
