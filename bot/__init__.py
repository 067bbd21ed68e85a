"""A self-hosted Telegram AI chatbot whose Sessions live in MongoDB.

The way of a message: `telegram.receiver` → inbox → `worker` → `telegram.handlers` → `turn`, which
loads the Session, runs the agent, commits and replies. Start reading at `turn`.
"""
