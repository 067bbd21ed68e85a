"""Lengths as Telegram counts them."""


def utf16_len(text: str) -> int:
    """Return the number of UTF-16 code units of `text`."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2
