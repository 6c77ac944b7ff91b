"""Models behind `protocol.Model`: lanes to servers, prices, context windows, token counts, discovery, and the demo.

Importing this package imports only msgspec from third parties; litellm is imported with the first model that needs it.
"""
