"""Fuzzing of everything that reads bytes of others: one set of targets, driven by hypothesis and by atheris."""
