"""Restore places of the workspace after a command, if the sandbox cannot protect them."""
