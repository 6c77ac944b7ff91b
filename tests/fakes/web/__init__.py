"""A web site on loopback."""
