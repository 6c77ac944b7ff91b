"""Perform the tool calls of an answer: validate them, pass them through the gate, run them."""
