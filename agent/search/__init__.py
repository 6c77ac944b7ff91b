"""Item keys, the frontier that stores items, and the search that works them."""
