"""The demo: the whole bot in a browser, on local stand-ins, with an inspector beside the chat."""
