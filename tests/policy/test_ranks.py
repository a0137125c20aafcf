"""Two processes on a CPU train as one does on the same global batch."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import load_file

from experiments.errors import StepError
from experiments.process import run_step
from tests.policy.stagejob import save_boards, write_job

STEPS, PROMPTS, GROUP = 3, 4, 4

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Runs the step with so many processes; returns its folder and its log."""
    folder = tmp_path_factory.mktemp("ranks")
    save_boards(folder, seed=7, count=16)

    def train(processes, module="tests.policy.fixed_stage", config="ddp", **changed):
        name = f"{module.rpartition('.')[2]}-{processes}-{config}"
        launch = {"processes": processes, "config": config} if processes > 1 else None
        grpo = {
            "num_generations": GROUP,
            "per_device_train_batch_size": 4,
            "gradient_accumulation_steps": PROMPTS * GROUP // 4 // processes,
            "max_steps": STEPS,
            # Adam would turn the rounding of a gradient near zero into a whole step.
            "optim": "sgd",
            "learning_rate": 0.1,
        }
        job = write_job(
            folder,
            name,
            **{
                "seed": 1,
                "reward": {"max_tokens": 64},
                "grpo": grpo,
                "launch": launch,
                "rehearsal": {"steps": 0, "targets": "teacher"},
                **changed,
            },
        )
        told = []
        run_step(
            module,
            job,
            folder / f"{name}.log",
            threads=1,
            launch=launch,
            on_progress=lambda numbers: told.append(numbers["done"]),
        )
        rows = [json.loads(line) for line in (folder / f"{name}.jsonl").read_text().splitlines()]
        return folder / name, rows, told

    return train


def test_boards_rewards_ability_counts_and_weights_are_those_of_one_process(trained):
    (one, rows_one, _), (two, rows_two, told) = trained(1), trained(2)
    tables = [pq.read_table(place / "rollouts.parquet") for place in (one, two)]
    assert tables[0].num_rows == STEPS * PROMPTS * GROUP
    for column in tables[0].column_names:
        np.testing.assert_array_equal(*(table[column].to_numpy() for table in tables), err_msg=column)
    assert 0 < tables[0]["valid"].to_numpy().mean() < 1 and tables[0]["truncated"].to_numpy().any()

    # One process speaks: one line a step, one report of it.
    assert [row["step"] for row in rows_two] == told == list(range(1, STEPS + 1))
    same = {key for key in rows_one[0] if key.startswith("size/")} | {"ability", "valid", "reward", "weights/length"}
    assert len(same) > 4 + 5
    for first, second in zip(rows_one, rows_two, strict=True):
        assert {key for key in first if key.startswith("size/")} == {key for key in second if key.startswith("size/")}
        for key in same & first.keys():
            assert first[key] == pytest.approx(second[key], abs=1e-6), key
        assert first["loss"] == pytest.approx(second["loss"], abs=1e-5)

    weights = [load_file(place / "model.safetensors") for place in (one, two)]
    start = load_file("policy/models/starter/model.safetensors")
    for name, value in weights[0].items():
        np.testing.assert_allclose(value, weights[1][name], atol=2e-6, err_msg=name)
    assert max(float(np.abs(weights[0][name] - value).max()) for name, value in start.items()) > 1e-4


def test_each_process_samples_for_itself_and_an_error_of_all_is_one_line(trained):
    rehearsal = {"steps": 2, "targets": "teacher"}
    place, rows, _ = trained(2, "experiments.steps.train_stage", rehearsal=rehearsal)
    assert [row["kind"] for row in rows] == ["train"] * STEPS + ["rehearsal"], "one process rehearses"
    assert abs(rows[0]["sampling/mean_difference"]) < 1e-4
    table = pq.read_table(place / "rollouts.parquet")
    groups = {}
    for group, board in zip(table["group"].to_pylist(), table["board"].to_pylist(), strict=True):
        groups.setdefault(group, []).append(board)
    assert all(len(held) == GROUP and len(set(held)) == 1 for held in groups.values())
    with pytest.raises(StepError, match=r"16 of 16 answers were cut off at 2 tokens"):
        trained(2, "experiments.steps.train_stage", reward={"max_tokens": 2}, out=f"{place}-short")


def test_a_model_that_was_to_be_sharded_is_not_trained_whole_on_a_cpu_without_a_word(trained):
    with pytest.raises(StepError, match=r"every process would hold all of it; say launch\.config=ddp"):
        trained(2, "experiments.steps.train_stage", config="fsdp2")
