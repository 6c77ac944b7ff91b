"""A run while its runner works: what the user asked for, what waits, and what runs."""
