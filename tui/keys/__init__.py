"""Actions, their keys, and where they count."""
