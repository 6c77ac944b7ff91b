"""Test the guarantees of a sandbox on this machine by attacking it from the inside."""
