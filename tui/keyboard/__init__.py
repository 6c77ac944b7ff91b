"""Keys: what the user's config changes, and letters that may begin a word."""
