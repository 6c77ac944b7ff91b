"""The tools that only read, and what they use."""
