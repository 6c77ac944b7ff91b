"""Detect damage in a journal, with a checksum chain over its events and a separate record of its newest event."""
