"""The session as lines of words, for screen readers and simple terminals. Nothing is painted over."""
