"""`reverify`: stored answers judged again, from the files of a run alone."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jaxenv
from experiments.recipe import load
from experiments.run import main
from jaxenv.batches import to_numpy
from policy.prompts import canonical_answer
from policy.texts import verify_texts


@pytest.fixture
def run(tmp_path):
    """A run of one set of optimal answers, the first of them cut off."""
    (tmp_path / "recipe.yaml").write_text(load("smoke").to_yaml())
    boards = jaxenv.benchmark("validation", num_agents=2, count=24)
    boards.save(tmp_path / "sets" / "validation")
    answers = canonical_answer(boards.solutions.plans, boards.instances, "compact")
    cut = np.arange(24) == 0
    verdicts = to_numpy(verify_texts(boards.instances, boards.solutions, answers, style="compact", truncated=cut))
    names = ("label", "valid", "optimal", "sum_of_costs", "makespan", "gap")
    columns = {name: getattr(verdicts, name) for name in names}
    table = pa.table({"board": np.arange(24), **columns, "truncated": cut, "completion": answers})
    (tmp_path / "start" / "eval").mkdir(parents=True)
    pq.write_table(table, tmp_path / "start" / "eval" / "validation.parquet")
    return tmp_path


def test_answers_that_are_judged_as_they_were_are_counted_and_the_exit_code_is_0(run, capfd):
    assert main(["reverify", str(run)]) == 0
    assert capfd.readouterr().out.split() == ["start", "validation", "24", "answers,", "0", "judged", "otherwise"]


def test_a_verdict_that_was_tampered_with_is_told_with_its_board(run, tmp_path, capfd):
    file = run / "start" / "eval" / "validation.parquet"
    columns = pq.read_table(file).to_pydict()
    columns["label"][5], columns["valid"][5] = int(jaxenv.Label.HOLE), False
    pq.write_table(pa.table(columns), file)
    assert main(["reverify", str(run), "--out", str(tmp_path / "again")]) == 1
    assert "start validation board 5: hole -> optimal" in capfd.readouterr().out
    (change,) = [json.loads(line) for line in (tmp_path / "again" / "changes.jsonl").read_text().splitlines()]
    assert (change["board"], change["before"]["valid"], change["now"]["valid"]) == (5, False, True)


def test_sampled_answers_are_judged_again_as_the_greedy_ones_are(run, capfd):
    greedy = run / "start" / "eval" / "validation.parquet"
    columns = pq.read_table(greedy).to_pydict()
    columns["optimal"][3] = False
    (greedy.parent / "samples").mkdir()
    pq.write_table(pa.table(columns), greedy.parent / "samples" / "validation.parquet")
    assert main(["reverify", str(run)]) == 1
    said = capfd.readouterr().out
    assert said.count("24 answers") == 2 and "start validation board 3: optimal -> optimal" in said


def test_a_folder_without_a_run_is_refused_in_one_line(tmp_path, capfd):
    assert main(["reverify", str(tmp_path)]) == 2
    assert capfd.readouterr().err.startswith("error: there is no run in")
