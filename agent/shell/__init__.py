"""Command lines: parsed with bash's grammar, and what their programs and options can do."""
