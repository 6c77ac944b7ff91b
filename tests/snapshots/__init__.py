"""Snapshots of every screen: `python -m snapshots` accepts what has changed."""
