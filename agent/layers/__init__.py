"""Let commands write into layers over the workspace, list what they would change, and apply it (decision 0039)."""
