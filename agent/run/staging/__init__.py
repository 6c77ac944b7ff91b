"""Stages: a run that changes nothing in the workspace until somebody decides on its whole result."""
