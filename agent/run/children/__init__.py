"""Child runs: a run whose works are runs of their own, with a share of its budget."""
