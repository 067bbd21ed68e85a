"""Local stand-ins for Telegram, the Messages API and a MongoDB server: strict, over HTTP, used by
tests and demo.
"""
