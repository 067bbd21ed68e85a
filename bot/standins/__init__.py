"""Strict stand-ins for Telegram, the Messages API, a transcriber and MongoDB: a library that needs
no product.
"""
