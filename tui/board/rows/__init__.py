"""The rows of each view of the board, as cells."""
