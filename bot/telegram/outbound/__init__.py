"""The way out: formatting, splitting, pacing, sending and previewing answers."""
