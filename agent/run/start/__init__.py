"""The start of a run: check its spec on this machine, assemble the objects that drive it, resume it."""
