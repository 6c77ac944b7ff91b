"""The repository and the verdict around each pass of a run."""
