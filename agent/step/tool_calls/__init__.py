"""Tool calls of an answer: validated, passed through the gate, run."""
