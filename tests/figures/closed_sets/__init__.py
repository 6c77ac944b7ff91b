"""Text fields whose values look like a closed set."""
