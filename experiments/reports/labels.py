"""The verdicts' labels by number, as `jaxenv.Label` has them; written again, so that a report needs no JAX."""

LABELS = (
    *("read", "truncated", "parse error", "agent mismatch", "too long", "off map", "hole", "vertex conflict"),
    *("swap conflict", "goal not reached", "suboptimal", "optimal", "solver fault"),
)
VALID = ("suboptimal", "optimal")
SHOWN = tuple(number for number, name in enumerate(LABELS) if name not in ("read", "solver fault"))
