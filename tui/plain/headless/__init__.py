"""The view of `--headless`: plain lines, or events as JSON."""
