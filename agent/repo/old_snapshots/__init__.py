"""Read the snapshots that runs of older versions stored, and restore files."""
