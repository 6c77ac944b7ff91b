"""Formats in which the program shows a file and the model answers with text: how to ask and how to read. No I/O."""
