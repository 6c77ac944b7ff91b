"""Loops: pure functions that decide what a run does next. No clock, no I/O."""
