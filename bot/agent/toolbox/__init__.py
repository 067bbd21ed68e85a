"""The built-in tools, one noun a module."""
