"""Make a model call: admit it, stream it into the journal, charge it, and retry it."""
