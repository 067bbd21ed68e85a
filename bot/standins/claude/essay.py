"""A long Markdown answer with everything that is hard to send: nested lists, a table, code,
Cyrillic, emoji.
"""

from __future__ import annotations

SECTION = """## Section {n} · Раздел {n} 🚀

A paragraph with **bold**, *italic*, `code`, ~~struck~~ and a [link](https://example.com/{n}).
Абзац с **жирным** текстом, *курсивом* и эмодзи 👩‍👩‍👧‍👦, которые занимают несколько единиц UTF-16.

1. First item of {n}
   - nested *alpha*
     - deeper `beta_{n}`
   - вложенный **пункт**
2. Второй пункт

| name | value | знач. |
|------|------:|:-----:|
| row  | {n}   | ✅    |
| ряд  | {n}0  | ❌    |

```python
def step_{n}(items: list[int]) -> int:
    return sum(item * {n} for item in items)  # сумма
```

> A quote, number {n}. Цитата.

"""


def essay(characters: int) -> str:
    """At least that many characters of Markdown."""
    sections: list[str] = []
    while sum(map(len, sections)) < characters:
        sections.append(SECTION.format(n=len(sections) + 1))
    return "# A long answer · Длинный ответ\n\n" + "".join(sections) + "The end. Конец."
