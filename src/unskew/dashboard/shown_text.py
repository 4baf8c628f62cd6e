"""Text of unknown origin, made safe to look at."""

import unicodedata

_UNSEEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}


def shown_text(text: str, most: int = 100) -> str:
    r"""Return ``text`` with all that is unseen spelled out, cut to ``most`` characters.

    Control characters, marks that turn the direction of writing and half characters would let a
    key look like another one, or like none.

    >>> shown_text("anna\x00\u202e!")
    'anna\\x00\\u202e!'
    >>> shown_text("<b>שלום</b>")
    '<b>שלום</b>'
    >>> shown_text("abcdef", most=4)
    'abc…'
    """
    begin = text[: most + 1]
    spelled = "".join(_spelled(character) for character in begin)
    return spelled if len(spelled) <= most else spelled[: most - 1] + "…"


def _spelled(character: str) -> str:
    if unicodedata.category(character) not in _UNSEEN:
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")
