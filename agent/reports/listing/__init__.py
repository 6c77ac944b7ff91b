"""Summaries of the runs in a folder, for lists and reports, with an index that avoids reading each journal again."""
