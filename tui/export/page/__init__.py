"""Self-contained HTML pages: no script, nothing loaded, every foreign text escaped."""
