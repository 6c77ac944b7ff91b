"""Judge a green check without what the run could not decide on (docs/decisions/0040-verdict.md)."""
