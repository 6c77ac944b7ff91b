"""Compare the contents of a file, highlight them, and show the difference in a pane that draws only visible rows."""
