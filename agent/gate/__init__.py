"""Decide whether a file change or a command may happen: proposals, policy and hunks."""
