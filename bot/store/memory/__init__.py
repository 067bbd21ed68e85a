"""The store in this process's memory: for tests, and for trying the bot without a database."""
