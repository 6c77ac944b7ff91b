"""Processes of a command: started, bounded, and ended with all their children."""
