"""State of a run and of its views, folded from events: facts, search, view, and reports of many journals."""
