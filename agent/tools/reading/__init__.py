"""The read-only tools: files, search and web pages."""
