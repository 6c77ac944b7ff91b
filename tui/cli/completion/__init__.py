"""Completion in a shell: the scripts for bash, zsh and fish, and the words that they offer."""
