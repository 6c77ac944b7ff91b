"""Recognise tool calls and reasoning that a model writes into its text, by model family."""
