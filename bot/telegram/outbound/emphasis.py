"""Which stars, underscores and tildes are emphasis, and which are operators, globs or names.

CommonMark's rules were made for words between blanks. Beside scripts that have none, and beside
quotation marks, a mark gets an edge, so that it may open and close there; an operator is taken as
it is.
"""

from __future__ import annotations

import re

from bot.telegram.outbound.placeholders import EDGE, literal, literal_match

SCRIPT = "\u0590-\u1fff\u2e80-\ud7ff\uf900-\ufaff\ufe10-\ufe6f\uff00-\uffef\U00020000-\U0003ffff"
"""Scripts that have no blanks between words, or attach words to each other, with their
punctuation.
"""

_NAME = re.compile(r"(?<![\w\\])__[A-Za-z0-9]+(?:_[A-Za-z0-9]+)*__(?!\w)")
_PART_OF_NAME = re.compile(r"[(\[./\\=:'\"-][\w(\[{\"']?")
_WORD = re.compile(
    r"(?:(?<![\w*\\=+/%&|^<>-])(\*{1,3})[^\W\d_]+|(?<=[^\W\d_])(\*\*)[^\W\d_]{2,})(?:\1|\2)(?!\*)"
)
_MARK = re.compile(r"(?<!\\)(?:\*+|~+|(?<!\w)_+|_+(?!\w))")
_GLOB = re.compile(r"(?<=\w)\\\*(?=\.\w)|(?<![*\\])\*(?=\.[\w*?{])")
_ADDRESS = re.compile(r"https?://[^\s<>\[\]\"'`]*[^\s<>\[\]\"'`()*_~.,;:!?]")
_MARKS_IN_ADDRESS = re.compile(r"[*_~]+")
_BESIDE_SCRIPT = re.compile(f"[{SCRIPT}\u2014\u2018-\u201d\u2026]")
_UNDERLINED = re.compile(
    f"(?<![\\w\\\\])(_{{2,3}})(?=[{SCRIPT}])([^_\n]{{1,200}})(?<=[{SCRIPT}])\\1(?!\\w)"
    f"|(?<=[{SCRIPT}])(_{{2,3}})(?=[{SCRIPT}])([^_\n]{{1,200}})(?<=[{SCRIPT}])\\3(?=[{SCRIPT}\\W]|$)"
)
_BEFORE_WORDS = re.compile(r"(?<![^\s(])\*\*[^\s*\d][^*\n]*[:.!?…\"'»”]\*\*(?=[^\W\d_])")
_AFTER_WORDS = re.compile(r"(?<=[^\W\d_])\*\*[\"'«“][^*\n]*[\"'»”]\*\*")
_PAIRS = frozenset({"()", "[]", "{}", "<>"})
_BOUND_TO_BEFORE, _BOUND_TO_AFTER = frozenset(",;:)]}"), frozenset("([{")
"""What no emphasis begins with, and ends with."""
_SPECIAL_NAMES = """
__init__ __main__ __name__ __file__ __all__ __call__ __str__ __repr__ __doc__ __dict__ __class__ __new__ __del__
__enter__ __exit__ __iter__ __next__ __len__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __hash__ __bool__ __int__
__float__ __bytes__ __format__ __getattr__ __setattr__ __delattr__ __getattribute__ __getitem__ __setitem__ __delitem__
__slots__ __version__ __author__ __future__ __import__ __builtins__ __annotations__ __module__ __qualname__ __path__
__package__ __spec__ __loader__ __debug__ __add__ __radd__ __iadd__ __sub__ __mul__ __truediv__ __floordiv__ __mod__
__pow__ __neg__ __abs__ __and__ __or__ __xor__ __invert__ __matmul__ __index__ __contains__ __missing__ __reversed__
__await__ __aenter__ __aexit__ __aiter__ __anext__ __get__ __set__ __delete__ __copy__ __deepcopy__ __getstate__
__setstate__ __reduce__ __mro__ __bases__ __base__ __subclasses__ __wrapped__ __closure__ __code__ __defaults__
__globals__ __traceback__ __cause__ __context__ __dir__ __prepare__ __fspath__ __pycache__ __proto__ __dirname__
__filename__ __mocks__ __tests__ __test__ __snapshots__ __fixtures__ __typename__ __construct__ __destruct__ __invoke__
__attribute__ __asm__ __inline__ __volatile__ __restrict__ __func__ __cdecl__ __stdcall__
__FILE__ __LINE__ __DIR__ __FUNCTION__ __METHOD__ __CLASS__ __NAMESPACE__ __DATE__ __TIME__ __DEV__ __PROD__
__VERSION__ __COUNTER__ __dunder__
"""  # noqa: E501
_SPECIAL = frozenset(_SPECIAL_NAMES.split())


def with_marks(text: str) -> str:
    """Take what is no emphasis as it is, and let emphasis begin and end beside any sign."""
    text = _NAME.sub(_name, _GLOB.sub(literal_match, _ADDRESS.sub(_address, text)))
    text = _UNDERLINED.sub(_with_edges, text)
    text = _AFTER_WORDS.sub(_with_edges, _BEFORE_WORDS.sub(_with_edges, text))
    kept: set[int] = set()
    for word in _WORD.finditer(text):
        kept |= {word.start(), word.end() - len(word[1] or word[2])}

    def mark(found: re.Match[str]) -> str:
        return _mark(found, is_emphasis=found.start() in kept)

    return _MARK.sub(mark, text)


def _address(found: re.Match[str]) -> str:
    """Keep an address as it is: the phone makes a link of it."""
    return _MARKS_IN_ADDRESS.sub(literal_match, found[0])


def _name(found: re.Match[str]) -> str:
    """Keep the underscores of a name of a program; `__word__` alone is emphasis."""
    text, (start, end) = found.string, found.span()
    before, after = text[start - 1 : start] if start else "", text[end : end + 2]
    is_part = bool(before and before in "./\\'\"=-$@") or (
        len(after) > 1 and bool(_PART_OF_NAME.fullmatch(after))
    )
    is_compound = "_" in found[0].strip("_")
    return literal(found[0]) if found[0] in _SPECIAL or is_part or is_compound else found[0]


def _with_edges(found: re.Match[str]) -> str:
    """Let the marks at both ends of the match open and close."""
    sign = found[0][0]
    inner = found[0].strip(sign)
    marks = sign * ((len(found[0]) - len(inner)) // 2)
    return f"{EDGE}{marks}{EDGE}{inner}{EDGE}{marks}{EDGE}"


def _mark(found: re.Match[str], *, is_emphasis: bool) -> str:
    sign, start, end = found[0], found.start(), found.end()
    before, after = found.string[max(start - 1, 0) : start], found.string[end : end + 1]
    if EDGE in {before, after}:
        return sign
    is_in_script = (
        sign[0] == "*"
        and bool(before.strip() and after.strip())
        and _BESIDE_SCRIPT.search(found.string, max(start - 2, 0), end + 2) is not None
    )
    can_be_operator = sign[0] != "~" and not is_in_script
    if sign == "~" or (can_be_operator and _is_operator(sign, before, after)):
        return literal(sign)
    if sign[0] == "_" or not before.strip() or not after.strip():
        return sign
    if _BESIDE_SCRIPT.match(before) or _BESIDE_SCRIPT.match(after):
        return f"{EDGE}{sign}{EDGE}"
    is_between = before.isalnum() and after.isalnum() and len(sign) < 3 and not is_emphasis  # noqa: PLR2004
    return literal(sign) if is_between else sign


def _is_operator(sign: str, before: str, after: str) -> bool:
    """Return whether the signs beside it say that this is no emphasis."""
    if before + after in _PAIRS or (sign == "*" and "/" in {before, after}):
        return True
    if before == after:
        return (
            before.isascii()
            and not before.isalnum()
            and before not in _BOUND_TO_AFTER
            and bool(before.strip())
        )
    if before in {")", "]", "}"} and after in _BOUND_TO_AFTER:
        return True
    if not (before + after).strip():
        return False
    can_open = bool(after.strip()) and after not in _BOUND_TO_BEFORE
    can_close = bool(before.strip()) and before not in _BOUND_TO_AFTER
    return not (can_open or can_close)
