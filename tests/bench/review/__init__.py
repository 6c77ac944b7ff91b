"""Real diffs of public projects with one planted defect each, and how a review deals with them."""
