"""A decision on a proposal from the command line. No textual in here."""
