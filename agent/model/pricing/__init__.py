"""Look up prices and context windows in litellm's table."""
