"""Operations: time, logs, health, metrics, leadership. Nothing here knows the bot's domain."""
