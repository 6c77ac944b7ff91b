"""The model's tools: their arguments, the drafts that they plan, and their results."""
