"""`rundry acp`: the view of an editor, over the Agent Client Protocol. Only `acp_command` may be imported at start."""
