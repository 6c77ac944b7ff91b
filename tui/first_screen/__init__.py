"""The screen before a run has begun: choose a model, continue a run, try a task."""
