"""Models that answer inside the test process."""
