"""Readers of tool calls, one for each family of models. They start after the opening tag. NotACall: plain text."""
