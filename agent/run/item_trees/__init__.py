"""The units of work of a migration's items, and the merges of their changes into the run's tree."""
