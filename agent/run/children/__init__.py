"""Child runs, which a run starts instead of steps, each with a share of its budget."""
