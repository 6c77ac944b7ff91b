"""Workers that need no model: a command or a Python function of the user. The crawler is in its own package."""
