"""`python -m bot`."""

from __future__ import annotations

from bot.cli import main

main()
