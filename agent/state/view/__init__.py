"""The data that a view of a run shows, folded from events for the runner, screens and plain output."""
