"""Parse command lines with bash's grammar, and look up what their programs and options can do."""
