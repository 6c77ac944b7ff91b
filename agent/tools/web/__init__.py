"""Make GET requests, normalize URLs, and turn HTML into readable text."""
