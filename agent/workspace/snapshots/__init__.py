"""States of the workspace as trees of objects: taken, compared, restored, written as patches."""
