"""What a view shows of a run, as plain data: folded from events by the runner, by screens and by plain output."""
