"""Find damage of a journal: a checksum chain over its events, and a record of its newest event in a file of its own."""
