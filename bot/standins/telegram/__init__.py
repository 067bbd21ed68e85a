"""Telegram, as far as a bot can see it: a strict Bot API over HTTP, and the people who talk to the
bot.
"""
