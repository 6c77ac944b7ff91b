"""Make GET requests, check addresses, and turn HTML into readable text."""
