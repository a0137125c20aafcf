"""The starter: a small Qwen3 model of its own, made from nothing on plain pairs of prompt and answer."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase, Qwen3Config, Qwen3ForCausalLM

from jaxenv.types import Limits
from policy.compact import LETTERS, vocabulary
from policy.tokenizer import SPECIAL, VOCABULARY_SIZE

Pair = tuple[str, str]
MODELS = Path(__file__).parent / "models"
IGNORED = -100  # the label that the cross entropy leaves out


@dataclass(frozen=True)
class Schedule:
    """How long and how fast one phase of the warm start learns."""

    steps: int
    peak_rate: float  # of AdamW; linear warm-up, then a cosine down to `final_share` of it
    final_share: float = 0.1
    warmup_steps: int = 100
    batch_tokens: int = 2048  # padded tokens in one batch


def new_model(seed: int) -> Qwen3ForCausalLM:
    """An untrained starter, about 1.2 million parameters, whose words for cells begin as what they have in common."""
    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=VOCABULARY_SIZE,
        hidden_size=128,
        intermediate_size=512,
        num_hidden_layers=4,
        num_attention_heads=4,
        num_key_value_heads=4,  # as many as there are heads: grouped ones are copied at every token that is sampled
        head_dim=32,
        max_position_embeddings=4096,
        tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": 10000.0},
        pad_token_id=0,
        eos_token_id=1,
        bos_token_id=None,
    )
    model = Qwen3ForCausalLM(config)
    _relate_cells(model.get_input_embeddings().weight)
    return model


@torch.no_grad()
def _relate_cells(embedding: torch.Tensor) -> None:
    """Let the word for a cell, and that for a move to it, begin as the sum of a row's, a column's and a move's vector.

    Rows and columns are waves of eight lengths in random directions, so that "one cell further" is the same linear map
    everywhere; a model whose hundred cells begin unrelated has to learn each of their borders alone.
    """
    width, scale = embedding.shape[1], float(embedding.std())
    edge = Limits().max_size
    angle = torch.arange(edge)[:, None] * torch.arange(1, 9)[None, :] * (math.pi / edge)
    waves = torch.cat([angle.cos(), angle.sin()], 1) / math.sqrt(8)  # f32[edge, 16], of length one
    rows, columns = (waves @ torch.randn(16, width) * scale for _ in range(2))
    moves = torch.randn(len(LETTERS), width) * scale
    first = {word: index for index, word in enumerate(vocabulary(), start=len(SPECIAL))}
    for row in range(edge):
        for column in range(edge):
            cell = rows[row] + columns[column]
            embedding[first[f" r{row}c{column}"]] = cell
            for letter, move in zip(LETTERS, moves, strict=True):
                embedding[first[f" {letter}>r{row}c{column}"]] = cell + move


def encode(tokenizer: PreTrainedTokenizerBase, pairs: Sequence[Pair]) -> list[tuple[np.ndarray, int]]:
    """Each pair as the ids of the whole exchange, i32[L], and the length of its prompt, through the chat template."""
    prompts = [
        tokenizer.apply_chat_template([{"role": "user", "content": p}], tokenize=False, add_generation_prompt=True)
        for p, _ in pairs
    ]
    heads = tokenizer(prompts, add_special_tokens=False)["input_ids"]
    end = str(tokenizer.eos_token)
    tails = tokenizer([answer + end for _, answer in pairs], add_special_tokens=False)["input_ids"]
    return [(np.asarray(h + t, np.int32), len(h)) for h, t in zip(heads, tails, strict=True)]


def train(
    model: PreTrainedModel,
    chunks: Iterator[list[tuple[np.ndarray, int]]],
    schedule: Schedule,
    *,
    pad: int,
    seed: int,
    report: Callable[[int, float, float], None],
) -> None:
    """Cross entropy on the answers; `chunks` yields encoded pairs for ever, `report` gets (step, loss, seconds)."""
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=schedule.peak_rate, betas=(0.9, 0.98), weight_decay=0.01, fused=True
    )
    random = np.random.default_rng(seed)
    batches = (batch for chunk in chunks for batch in _batches(chunk, schedule.batch_tokens, random))
    model.train()
    began, losses = time.monotonic(), []
    for step in range(schedule.steps):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(schedule, step)
        ids, labels = (batch.to(model.device) for batch in pad_batch(next(batches), pad))
        hidden = model.get_decoder()(input_ids=ids).last_hidden_state[:, :-1]
        wanted = labels[:, 1:]
        # The head is the widest layer: compute it only where a label counts.
        logits = model.get_output_embeddings()(hidden[wanted != IGNORED]).float()
        loss = torch.nn.functional.cross_entropy(logits, wanted[wanted != IGNORED])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        losses.append(loss.item())
        if (step + 1) % 100 == 0 or step + 1 == schedule.steps:
            report(step + 1, sum(losses) / len(losses), time.monotonic() - began)
            losses = []
    model.eval()


def learning_rate(schedule: Schedule, step: int) -> float:
    """Linear warm-up, then half a cosine from the peak down to its final share."""
    warm = min(1.0, (step + 1) / schedule.warmup_steps)
    along = min(1.0, step / max(1, schedule.steps))
    share = schedule.final_share + (1 - schedule.final_share) * 0.5 * (1 + math.cos(math.pi * along))
    return schedule.peak_rate * warm * share


def _batches(
    encoded: list[tuple[np.ndarray, int]], batch_tokens: int, random: np.random.Generator
) -> Iterator[list[tuple[np.ndarray, int]]]:
    """Batches of similar length in random order, each at most `batch_tokens` with its padding (or one pair)."""
    order = sorted(random.permutation(len(encoded)).tolist(), key=lambda i: len(encoded[i][0]))
    batches: list[list[int]] = [[]]
    for index in order:
        if batches[-1] and len(encoded[index][0]) * (len(batches[-1]) + 1) > batch_tokens:
            batches.append([])
        batches[-1].append(index)
    for which in random.permutation(len(batches)).tolist():
        yield [encoded[index] for index in batches[which]]


def pad_batch(batch: list[tuple[np.ndarray, int]], pad: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Ids and labels i64[batch, longest], padded on the right (causal attention never looks there)."""
    longest = max(len(ids) for ids, _ in batch)
    ids = torch.full((len(batch), longest), pad)
    labels = torch.full((len(batch), longest), IGNORED)
    for row, (tokens, prompt) in enumerate(batch):
        ids[row, : len(tokens)] = torch.from_numpy(tokens.astype(np.int64))
        labels[row, prompt : len(tokens)] = ids[row, prompt : len(tokens)]
    return ids, labels
