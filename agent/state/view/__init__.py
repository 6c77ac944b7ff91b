"""The data that a view of a run shows. The runner, screens and plain output fold it from events."""
