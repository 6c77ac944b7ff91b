"""Decide on a proposal from the command line. Does not import textual."""
