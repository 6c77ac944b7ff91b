"""Passes of a run: begin one, judge it, and commit it or roll it back."""
