"""The board: the live view of a search that runs until it is dry."""
