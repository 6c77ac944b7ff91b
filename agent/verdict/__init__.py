"""What green means: checks, test counts, predicates, scope, plants, judge (docs/decisions/0040-verdict.md)."""
