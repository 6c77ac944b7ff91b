"""Pages for a browser: a run, on this machine only, and what waits for approval, for one device of the network."""
