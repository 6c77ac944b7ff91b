"""The runner process: it claims a run, drives it, takes commands and parks."""
