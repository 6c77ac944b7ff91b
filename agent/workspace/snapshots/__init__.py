"""Store states of the workspace as trees of objects, compare and restore them, and write them as patches."""
