"""Read the search that a command line or a spec file requests."""
