"""Wire formats of the providers that litellm connects to."""
