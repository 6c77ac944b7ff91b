"""Rules that several loops share."""
