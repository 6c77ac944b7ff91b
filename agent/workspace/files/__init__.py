"""Files of the workspace: opened without following links, compared, written in full or not at all."""
