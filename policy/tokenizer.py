"""The starter's tokenizer: one token per word of the style `compact`, per number, and per phrase that a corpus repeats.

Everything else is byte-level BPE. Numbers are whole numbers up to 100 and ratios of two decimals, with the space before
them. What stands between two numbers of a line in the same words again and again, as in the engineer's prompts and
replies, is one token as well: a small model then spends its few layers on the numbers.
"""

import json
import re
from collections import Counter
from collections.abc import Sequence

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from policy.compact import vocabulary

VOCABULARY_SIZE = 1152
PAD, END, SYSTEM, USER, ASSISTANT = "<|pad|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"
SPECIAL = [PAD, END, SYSTEM, USER, ASSISTANT]
# The last is the one map size of two digits, where it is a key.
_NUMBERS = [*(f" {number}" for number in range(101)), *(f" {part / 100:.2f}" for part in range(101)), "10"]
_BORDER = re.compile(r" ?[0-9]+(?:\.[0-9]+)?|(?<=\n)")  # a number, or the end of a line
_PHRASES = 48  # words for the commonest pieces of text between two borders
_SHORTEST = 2  # characters of such a piece
_CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] }}"
    "{% if message['role'] == 'assistant' %}{{ '<|end|>' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)


def build_tokenizer(corpus: Sequence[str]) -> PreTrainedTokenizerFast:
    """Phrases and the byte-level part come from `corpus`; special tokens and the words of `compact` have the first ids.

    In BPE digits stand alone, so that a small model sees every other number in the same few tokens.
    """
    words = [*vocabulary(), *_NUMBERS, *_phrases(corpus)]
    split = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = split
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(
        corpus,
        trainers.BpeTrainer(
            vocab_size=VOCABULARY_SIZE,
            special_tokens=[*SPECIAL, *words],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    # The trainer marks all of its first tokens as special, and decoding would drop the moves with them.
    bare = Tokenizer(models.BPE(vocab=_plain_vocabulary(tokenizer), merges=_merges(tokenizer)))
    bare.pre_tokenizer = split
    bare.decoder = decoders.ByteLevel()
    bare.add_special_tokens(SPECIAL)
    bare.add_tokens([AddedToken(word, normalized=False) for word in words])
    return PreTrainedTokenizerFast(
        tokenizer_object=bare,
        pad_token=PAD,
        eos_token=END,
        additional_special_tokens=[SYSTEM, USER, ASSISTANT],
        chat_template=_CHAT_TEMPLATE,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )


def _phrases(corpus: Sequence[str]) -> list[str]:
    """The commonest pieces between two numbers or line ends, ties in the order of the alphabet."""
    known = {*vocabulary(), *_NUMBERS}
    pieces = Counter(piece for text in corpus for piece in _BORDER.split(text) if len(piece) >= _SHORTEST)
    common = sorted((-count, piece) for piece, count in pieces.items() if piece not in known)
    return [piece for _, piece in common[:_PHRASES]]


def _plain_vocabulary(tokenizer: Tokenizer) -> dict[str, int]:
    vocabulary_: dict[str, int] = tokenizer.get_vocab()
    return vocabulary_


def _merges(tokenizer: Tokenizer) -> list[tuple[str, str]]:
    return [tuple(pair) for pair in json.loads(tokenizer.to_str())["model"]["merges"]]
