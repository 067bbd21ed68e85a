"""The Telegram side: who writes, what was sent, how an answer is shown and delivered."""
