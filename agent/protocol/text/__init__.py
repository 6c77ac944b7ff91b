"""Convert paths and JSON to text in which every character is visible."""
