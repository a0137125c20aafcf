"""Evaluation: rows for every board and answer, from which everything else follows, and no answer asked for twice."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

import jaxenv
from experiments import evaluate_command, standalone
from experiments.errors import StepError
from experiments.recipe import SamplerBlock
from experiments.reports.samples import mean_and_best
from experiments.run import main as run_main
from experiments.steps import evaluate
from experiments.tables import read_table
from jaxenv.types import Label
from policy.prompts import canonical_answer
from policy.sampling import Completion

COUNT, BATCH = 20, 4
HF = SamplerBlock().model_dump(mode="json")


@pytest.fixture(scope="module")
def boards(tmp_path_factory):
    from jaxenv.benchmarks import benchmark

    folder = tmp_path_factory.mktemp("sets") / "some"
    benchmark("validation", count=COUNT, num_agents=2).save(folder)
    return folder


class Player:
    """Answers boards with their optimal plans when greedy; sampled answers are right for every second seed."""

    def __init__(self, folder):
        from jaxenv.batches import to_numpy
        from policy.prompts import render

        loaded = jaxenv.Dataset.load(folder)
        prompts = render(to_numpy(loaded.instances), "compact", objective="sum_of_costs")
        answers = canonical_answer(loaded.solutions.plans, loaded.instances, "compact")
        self.known = dict(zip(prompts, answers, strict=True))
        self.calls, self.patience = [], 10**9

    def generate(self, prompts, *, max_tokens, temperature, seed, progress=None):
        if len(self.calls) == self.patience:
            raise StepError("the power went")
        self.calls.append((tuple(prompts), temperature, seed))
        right = temperature == 0 or seed % 2 == 0
        return [Completion(self.known[prompt] if right else "?", 3, False) for prompt in prompts]


@pytest.fixture
def player(boards, monkeypatch):
    made = Player(boards)
    monkeypatch.setattr(evaluate, "load_sampler", lambda *_, **__: made)
    monkeypatch.setattr(sys, "excepthook", sys.excepthook)
    return made


def step(out, boards, monkeypatch, **changed):
    """The step in this process, as the driver would start it."""
    job = {
        **{"name": "evaluate", "out": str(out), "model": "starter", "sampler": HF, "sets": {"some": str(boards)}},
        **{"style": "compact", "objective": "sum_of_costs", "max_tokens": 64, "batch": BATCH, "samples": 3},
        **{"temperature": 1.0, "seed": 5, "stage": 0, "threads": 1, "metrics": str(out) + ".jsonl", **changed},
    }
    file = Path(f"{out}-job.json")
    file.write_text(json.dumps(job))
    monkeypatch.setattr(sys, "argv", ["evaluate", str(file)])
    evaluate.main()
    return read_table(out / "some.parquet"), out / "samples" / "some.parquet"


def test_there_is_a_row_for_every_board_and_every_sample_and_the_rest_follows(player, boards, tmp_path, monkeypatch):
    greedy, samples = step(tmp_path / "out", boards, monkeypatch)
    assert greedy["board"].tolist() == list(range(COUNT)) and greedy["optimal"].all() and not greedy["sample"].any()
    sampled = read_table(samples)
    assert sampled["board"].tolist() == np.repeat(np.arange(COUNT), 3).tolist()
    assert sampled["sample"].tolist() == [1, 2, 3] * COUNT
    told = json.loads((tmp_path / "out" / "summary.json").read_text())["some"]
    mean, best = mean_and_best(sampled, "valid")
    assert told["valid"] == 1.0 and told["mean_valid"] == mean and told["best_valid"] == best.value
    by_board = sampled["valid"].reshape(COUNT, 3)
    assert mean == by_board.mean() and best.value == by_board.any(axis=1).mean() and 0 < mean < best.value <= 1
    assert not list((tmp_path / "out").glob(".*"))


def test_every_pass_over_the_boards_is_drawn_with_seeds_of_its_own(player, boards, tmp_path, monkeypatch):
    step(tmp_path / "out", boards, monkeypatch)
    chunks = -(-COUNT // (2 * BATCH))
    assert len(player.calls) == 4 * chunks and len({seed for *_, seed in player.calls}) == 4 * chunks
    assert [temperature for _, temperature, _ in player.calls] == [0.0] * chunks + [1.0] * 3 * chunks
    lengths = [len(prompt) for prompts, _, _ in player.calls[:chunks] for prompt in prompts]
    assert lengths == sorted(lengths)


def test_an_interrupted_evaluation_goes_on_where_it_stopped_and_ends_the_same(player, boards, tmp_path, monkeypatch):
    whole = [file.read_bytes() for file in _files(step(tmp_path / "whole", boards, monkeypatch), tmp_path / "whole")]
    asked = list(player.calls)
    player.calls.clear()
    player.patience = 5
    with pytest.raises(StepError, match="power"):
        step(tmp_path / "out", boards, monkeypatch)
    assert player.calls == asked[:5]
    player.patience = 10**9
    player.calls.clear()
    again = step(tmp_path / "out", boards, monkeypatch)
    assert player.calls == asked[5:]
    assert [file.read_bytes() for file in _files(again, tmp_path / "out")] == whole


def _files(made, out):
    return [out / "some.parquet", made[1]]


@pytest.mark.parametrize("changed", [{"seed": 6}, {"model": "starter-format"}, {"max_tokens": 65}])
def test_the_answers_of_another_evaluation_are_not_taken_for_this_ones(player, boards, tmp_path, monkeypatch, changed):
    player.patience = 2
    with pytest.raises(StepError, match="power"):
        step(tmp_path / "out", boards, monkeypatch)
    with pytest.raises(StepError, match="holds answers of another evaluation"):
        step(tmp_path / "out", boards, monkeypatch, **changed)


def test_the_command_hands_on_what_is_asked_and_says_the_rates(player, boards, tmp_path, monkeypatch, capsys):
    jobs = []

    def run_alone(kind, out, job, threads=None):
        jobs.append((kind, job))
        step(out, boards, monkeypatch, samples=job["samples"])

    monkeypatch.setattr(evaluate_command, "run_alone", run_alone)
    out = tmp_path / "out"
    arguments = ["evaluate", "--data", str(boards), "--out", str(out), "--samples", "2"]
    assert run_main([*arguments, "--model", "m", "--base-url", "http://x/v1"]) == 0
    (kind, job), said = jobs[0], capsys.readouterr().out
    assert kind == "evaluate" and job["sets"] == {"some": str(boards)} and job["samples"] == 2
    assert job["model"] == "m" and job["batch"] <= 16
    assert (job["sampler"]["name"], job["sampler"]["base_url"]) == ("openai", "http://x/v1")
    assert f"some, {COUNT} boards: valid 100.0 (83.9 to 100.0) %" in said and "2 samples: mean" in said
    assert standalone.run_alone is not run_alone


def test_the_recipes_sampler_is_asked_and_an_endpoints_costs_lie_beside_the_answers(
    player, boards, tmp_path, monkeypatch
):
    asked = []

    def load(model, *, batch, settings, log):
        asked.append((model, batch, settings.name, settings.base_url, log))
        return player

    monkeypatch.setattr(evaluate, "load_sampler", load)
    served = {**HF, "name": "openai", "base_url": "http://x/v1"}
    greedy, _ = step(tmp_path / "out", boards, monkeypatch, sampler=served, samples=0)
    assert asked == [("starter", BATCH, "openai", "http://x/v1", tmp_path / "out" / "costs.jsonl")]
    assert greedy["valid"].all() and not (tmp_path / "out" / "samples").exists()


def test_another_sampler_is_another_evaluation_and_another_budget_is_not(player, boards, tmp_path, monkeypatch):
    player.patience = 2
    with pytest.raises(StepError, match="power"):
        step(tmp_path / "out", boards, monkeypatch)
    with pytest.raises(StepError, match="holds answers of another evaluation"):
        step(tmp_path / "out", boards, monkeypatch, sampler={**HF, "thinking": True})
    player.patience = 10**9
    step(tmp_path / "out", boards, monkeypatch, sampler={**HF, "budget": 2.0})


def test_with_thinking_what_comes_before_the_closing_tag_is_no_answer(player, boards, tmp_path, monkeypatch):
    monkeypatch.setattr(
        player, "known", {prompt: f"r0c0 why </think>{answer}" for prompt, answer in player.known.items()}
    )
    greedy, _ = step(tmp_path / "out", boards, monkeypatch, sampler={**HF, "thinking": True}, samples=0)
    assert greedy["optimal"].all()
    monkeypatch.setattr(player, "known", dict.fromkeys(player.known, "W"))
    greedy, _ = step(tmp_path / "again", boards, monkeypatch, sampler={**HF, "thinking": True}, samples=0)
    assert set(greedy["label"]) == {Label.TRUNCATED}
