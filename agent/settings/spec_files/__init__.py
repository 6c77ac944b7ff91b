"""Spec files of searches and goal runs: their tables and JSON Schema, parameters, and the folders of recipes."""
