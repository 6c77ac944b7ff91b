"""Import what git did in a layer, as from an untrusted remote (decision 0039)."""
