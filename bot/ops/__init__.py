"""What operating needs: time, logs, health. Knows nothing of the bot's domain."""
