"""A widget for a very long list of lines, of which only the visible ones are drawn. Transcript and diff pane use it."""
