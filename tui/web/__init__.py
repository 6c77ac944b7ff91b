"""A view of a run in the browser, served on this machine only."""
