"""Resume a run whose journal is damaged, if a person accepts this. Its spend still counts."""
