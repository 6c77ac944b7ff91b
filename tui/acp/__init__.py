"""`rundry acp`: the view of an editor, over the Agent Client Protocol. Only `command` may be imported at start."""
