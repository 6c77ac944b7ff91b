"""The search that a command line or a spec file requests."""
