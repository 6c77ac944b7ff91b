"""The scope of a verdict: which tests a check runs, and which names of the sources they reach."""
