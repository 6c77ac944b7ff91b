"""GET requests, addresses, and HTML as readable text."""
