"""Command line of rundry. Imports only click, and nothing of the screen."""
