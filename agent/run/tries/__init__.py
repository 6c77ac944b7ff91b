"""Tries of a pass: candidates in separate worktrees, of which the best is applied."""
