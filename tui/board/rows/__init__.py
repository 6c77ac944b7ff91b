"""The rows of the board, each view as cells."""
