"""The objects that the steps of a run use. `RunContext` holds one of each."""
