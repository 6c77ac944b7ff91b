"""File changes at the gate: diffs, hunks, merges, and rebasing a change when its file changes meanwhile."""
