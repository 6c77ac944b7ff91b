"""The items of a search: their keys, the frontier that stores them, and how one item is worked."""
