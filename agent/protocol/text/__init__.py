"""Text and JSON that show every character."""
