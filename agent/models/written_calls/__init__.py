"""Recognise tool calls and reasoning that a model writes into its text (leaks), by model family."""
