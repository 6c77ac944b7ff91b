"""`rundry mcp`: serve runs to clients of the Model Context Protocol over standard input and output."""
