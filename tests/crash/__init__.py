"""Crash runs of every kind of loop and compare what the resumed runs leave with a run that was not crashed."""
