"""Module G: what is known about designing boards, in a few sentences of our own."""

GUIDELINES = (
    "A group of answers teaches only if some are valid and some are not.",
    "Give most boards to sizes between all wrong and all right, few to the others, none to no size.",
    "More holes where valid is high, fewer where it is low.",
    "More boards that need a wait where agents collide and some answers are valid.",
    "Follow the evidence, keep what works, change in small steps.",
)
