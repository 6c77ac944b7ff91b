"""The end of a run: second checks, evidence, the judge, and the outcome."""
