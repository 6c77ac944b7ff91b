"""Connect to providers through litellm: it builds and signs the request, and known formats are read here."""
