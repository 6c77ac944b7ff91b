"""Read options from flags, environment and config files, build run specs, and check whether a folder is trusted."""
