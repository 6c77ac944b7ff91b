"""The list of entries of a proposal about what a command would change."""
