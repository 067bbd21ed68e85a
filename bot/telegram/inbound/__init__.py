"""The way in: who wrote, what was sent, and how updates arrive.

It imports nothing of the way out.
"""
