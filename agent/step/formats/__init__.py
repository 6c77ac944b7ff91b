"""Edit formats: changes that a model writes as text, and how they are read and fitted."""
