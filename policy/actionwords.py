"""Lists of actions as models write them: in words, letters or arrows, with separators of many kinds."""

import re
from functools import lru_cache

from jaxenv.types import Action
from policy.errors import AnswerError

WORDS = {
    "WAIT": Action.WAIT,
    "STAY": Action.WAIT,
    "NOOP": Action.WAIT,
    "NO-OP": Action.WAIT,
    "UP": Action.UP,
    "DOWN": Action.DOWN,
    "LEFT": Action.LEFT,
    "RIGHT": Action.RIGHT,
}
LETTERS = {"W": Action.WAIT, "U": Action.UP, "D": Action.DOWN, "L": Action.LEFT, "R": Action.RIGHT}
ARROWS = {
    "↑": Action.UP,
    "↓": Action.DOWN,
    "←": Action.LEFT,
    "→": Action.RIGHT,
    "⬆": Action.UP,
    "⬇": Action.DOWN,
    "⬅": Action.LEFT,
}
ARROWS |= {"➡": Action.RIGHT, "^": Action.UP, "<": Action.LEFT, ">": Action.RIGHT}

DECORATION = " \t\"'`*_.()[]{}$\\"
_EMPTY = re.compile(r"(?:none|empty|no (?:actions|moves)|nothing|-)?", re.IGNORECASE)
_SEPARATORS = re.compile(r"->|=>|\s[-\u2013\u2014]\s|[\s,;|/]+")


def actions_of(text: str) -> list[Action]:
    """The actions of one list, in words, letters or arrows."""
    text = text.strip(DECORATION + ",;|/")
    words = actions_of_words(text)
    if words is not None:
        return words
    return [] if _EMPTY.fullmatch(text) else actions_of_tokens(tokens_of(text))


def actions_of_words(text: str) -> list[Action] | None:
    """The actions of a list of words between commas; None for all other lists."""
    if not text:
        return []
    try:
        return [WORDS[word] for word in text.upper().split(", ")]
    except KeyError:
        return None


def tokens_of(text: str) -> list[str]:
    tokens = [token.strip(DECORATION) for token in _SEPARATORS.split(text)]
    return [token for token in tokens if token]


def actions_of_tokens(tokens: list[str]) -> list[Action]:
    actions: list[Action] = []
    kinds: set[str] = set()
    for token in tokens:
        read = _read_token(token)
        if read is None:
            raise AnswerError(f"{token[:40]!r} is no action; use UP, DOWN, LEFT, RIGHT or WAIT")
        actions += read[0]
        kinds.add(read[1])
    if "arrows" in kinds and kinds - {"arrows", "wait"}:
        raise AnswerError("a list mixes arrows with words or letters, so an arrow may be a separator or an action")
    return actions


@lru_cache(maxsize=1024)
def _read_token(token: str) -> tuple[tuple[Action, ...], str] | None:
    """The actions that a token names, and whether by words, letters, arrows or a wait that may stand among them.

    None where it names none.
    """
    upper = token.upper()
    if upper in WORDS:
        action = WORDS[upper]
        return (action,), "wait" if action == Action.WAIT else "words"
    if all(char in ARROWS or char in "vV" for char in token):
        return tuple(ARROWS.get(char, Action.DOWN) for char in token), "arrows"
    if all(char in LETTERS for char in upper):
        return tuple(LETTERS[char] for char in upper), "wait" if set(upper) == {"W"} else "letters"
    return None
