"""Read the hooks of a config, and check whether their scripts are trusted."""
