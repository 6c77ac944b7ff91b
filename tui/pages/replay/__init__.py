"""Replay a run from its start, at any speed, at any position. Does not import textual."""
