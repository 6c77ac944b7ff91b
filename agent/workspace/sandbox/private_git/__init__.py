"""Give sandboxed commands a private git folder, and import their changes into the user's repository."""
