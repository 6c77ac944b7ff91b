"""Import and patch litellm, and check the credentials that it needs."""
