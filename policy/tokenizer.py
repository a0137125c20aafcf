"""The starter's tokenizer: one token per word of the style `compact`, byte-level BPE for everything else."""

from collections.abc import Iterable

from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from policy.compact import vocabulary

VOCABULARY_SIZE = 1152
PAD, END, SYSTEM, USER, ASSISTANT = "<|pad|>", "<|end|>", "<|system|>", "<|user|>", "<|assistant|>"
SPECIAL = [PAD, END, SYSTEM, USER, ASSISTANT]
_CHAT_TEMPLATE = (
    "{% for message in messages %}{{ '<|' + message['role'] + '|>' + message['content'] }}"
    "{% if message['role'] == 'assistant' %}{{ '<|end|>' }}{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)


def build_tokenizer(corpus: Iterable[str]) -> PreTrainedTokenizerFast:
    """Train the byte-level part on `corpus`; the special tokens and the words of `compact` keep the first ids.

    Digits stand alone, so that a small model sees every number in the same few tokens.
    """
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
            special_tokens=[*SPECIAL, *vocabulary()],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    # The trainer marks all of its first tokens as special, and decoding would drop the moves with them.
    bare = Tokenizer(models.BPE(vocab=_plain_vocabulary(tokenizer), merges=_merges(tokenizer)))
    bare.pre_tokenizer = split
    bare.decoder = decoders.ByteLevel()
    bare.add_special_tokens(SPECIAL)
    bare.add_tokens([AddedToken(word, normalized=False) for word in vocabulary()])
    return PreTrainedTokenizerFast(
        tokenizer_object=bare,
        pad_token=PAD,
        eos_token=END,
        additional_special_tokens=[SYSTEM, USER, ASSISTANT],
        chat_template=_CHAT_TEMPLATE,
        padding_side="left",
        clean_up_tokenization_spaces=False,
    )


def _plain_vocabulary(tokenizer: Tokenizer) -> dict[str, int]:
    vocabulary_: dict[str, int] = tokenizer.get_vocab()
    return vocabulary_


def _merges(tokenizer: Tokenizer) -> list[tuple[str, str]]:
    import json

    return [tuple(pair) for pair in json.loads(tokenizer.to_str())["model"]["merges"]]
