"""Sets as files: nothing is lost on the way, strangers can read them, and what was tampered with is refused."""

import json

import jax
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jaxenv.dataset import Dataset
from jaxenv.errors import JaxenvError
from jaxenv.types import Instances, Plans, Solutions

MOVES = {"W": (0, 0), "U": (-1, 0), "D": (1, 0), "L": (0, -1), "R": (0, 1)}


def small_set(horizon=32, max_size=10, max_agents=5):
    """Two written boards: three agents on a 3x3 map, one with nothing to do; one agent on a 5x5 map with a hole."""
    holes = np.ones((2, max_size, max_size), bool)
    holes[0, :3, :3] = False
    holes[1, :5, :5] = False
    holes[1, 1, 1] = True
    starts, goals = np.full((2, max_agents, 2), max_size, np.int32), np.full((2, max_agents, 2), max_size, np.int32)
    starts[0, :3], goals[0, :3] = [(0, 0), (2, 2), (1, 0)], [(0, 2), (2, 2), (2, 0)]
    starts[1, 0], goals[1, 0] = (0, 4), (0, 3)
    actions, lengths = np.zeros((2, max_agents, horizon), np.int8), np.zeros((2, max_agents), np.int32)
    actions[0, 0, :2], actions[0, 2, :1], actions[1, 0, :1] = 4, 2, 3
    lengths[0, :3], lengths[1, 0] = [2, 0, 1], 1
    costs = np.array([3, 1], np.int32)
    solutions = Solutions(
        status=np.ones(2, np.int32),
        sum_of_costs=costs,
        makespan=np.array([2, 1], np.int32),
        lower_bound=costs,
        single_path_bound=costs,
        needs_wait=np.zeros(2, bool),
        interacts=np.zeros(2, bool),
        plans=Plans(actions=actions, lengths=lengths, outcome=np.zeros(2, np.int32)),
    )
    boards = Instances(np.array([3, 5], np.int32), np.array([3, 1], np.int32), holes, starts, goals)
    requested = {"count": 2, "split": "train", "objective": "sum_of_costs"}
    return Dataset.create(boards, solutions, requested, {"classes": [], "changed": []})


def test_a_saved_set_comes_back_to_the_last_bit(tmp_path):
    dataset = small_set()
    loaded = Dataset.load(dataset.save(tmp_path / "set"))
    before, after = ((d.instances, d.solutions) for d in (dataset, loaded))
    for one, other in zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True):
        assert one.dtype == other.dtype and np.array_equal(one, other)
    assert loaded.requested == dataset.requested and loaded.realised == dataset.realised
    assert loaded.content_hash == dataset.content_hash and len(loaded) == 2


def test_columns_are_flat_and_readable_by_eye(tmp_path):
    frame = pd.read_parquet(small_set().save(tmp_path / "set") / "boards.parquet")
    assert frame["map"].tolist() == ["...\n...\n...", ".....\n.H...\n.....\n.....\n....."]
    assert frame["plan"].tolist() == ["RR||D", "L"]
    assert frame["starts"][0].tolist() == [0, 0, 2, 2, 1, 0] and frame["goals"][1].tolist() == [0, 3]
    assert frame["sum_of_costs"].tolist() == [3, 1] and frame["needs_wait"].tolist() == [False, False]
    assert frame["board_id"].is_unique
    assert not frame.isna().any().any()
    types = pq.read_schema(tmp_path / "set" / "boards.parquet").types
    assert not any(pa.types.is_struct(kind) for kind in types)


def test_the_hub_library_reads_a_set(tmp_path):
    datasets = pytest.importorskip("datasets")
    folder = small_set().save(tmp_path / "set")
    rows = datasets.load_dataset(
        "parquet", data_files=str(folder / "boards.parquet"), split="train", cache_dir=str(tmp_path / "cache")
    )
    assert rows["plan"][:] == ["RR||D", "L"] and rows[0]["goals"] == [0, 2, 2, 2, 2, 0]


def test_the_content_hash_is_of_boards_and_labels_but_not_of_plans_or_padding():
    dataset = small_set()
    assert dataset.content_hash == small_set(horizon=64, max_size=6, max_agents=3).content_hash
    longer = dataset.solutions.replace(
        plans=dataset.solutions.plans.replace(actions=dataset.solutions.plans.actions + 1)
    )
    assert Dataset.create(dataset.instances, longer, {}, {}).content_hash == dataset.content_hash
    for field, value in [("sum_of_costs", 4), ("needs_wait", True), ("status", 0)]:
        changed = dataset.solutions.replace(**{field: getattr(dataset.solutions, field).at[1].set(value)})
        assert Dataset.create(dataset.instances, changed, {}, {}).content_hash != dataset.content_hash
    for field in ("starts", "goals"):
        moved = dataset.instances.replace(**{field: getattr(dataset.instances, field).at[1, 0, 0].set(4)})
        assert Dataset.create(moved, dataset.solutions, {}, {}).content_hash != dataset.content_hash


def test_the_content_hash_is_stable_between_versions():
    assert small_set().content_hash == "a84bf0f843ed736ec5027ad0b492af63"


def test_what_a_set_hands_out_cannot_change_it():
    dataset = small_set()
    dataset.requested["count"] = 5
    dataset.realised["sizes"].clear()
    assert dataset.requested["count"] == 2 and dataset.realised["sizes"]["3"]["count"] == 1
    with pytest.raises(AttributeError):
        dataset.instances = None


def test_a_set_changed_on_disk_is_refused(tmp_path):
    folder = small_set().save(tmp_path / "set")
    table = pq.read_table(folder / "boards.parquet")
    costs = table.schema.get_field_index("sum_of_costs")
    pq.write_table(table.set_column(costs, "sum_of_costs", pa.array([2, 1], pa.int32())), folder / "boards.parquet")
    with pytest.raises(JaxenvError, match="changed after it was written"):
        Dataset.load(folder)


@pytest.mark.parametrize(
    "damage", ["no folder", "no metadata", "not json", "other format", "a column less", "too small"]
)
def test_a_folder_that_is_no_set_is_refused_in_one_line(tmp_path, damage):
    folder = tmp_path / "set"
    if damage != "no folder":
        small_set().save(folder)
    metadata = folder / "metadata.json"
    if damage == "no metadata":
        metadata.unlink()
    elif damage == "not json":
        metadata.write_text("{")
    elif damage in ("other format", "too small"):
        change = {"format": 99} if damage == "other format" else {"max_size": 4}
        metadata.write_text(json.dumps(json.loads(metadata.read_text()) | change))
    elif damage == "a column less":
        pq.write_table(pq.read_table(folder / "boards.parquet").drop(["map"]), folder / "boards.parquet")
    with pytest.raises(JaxenvError, match="generate it again") as caught:
        Dataset.load(folder)
    assert "\n" not in str(caught.value)


def test_saving_replaces_a_set_but_nothing_else(tmp_path):
    dataset = small_set()
    dataset.save(tmp_path / "set")
    assert len(Dataset.load(dataset.save(tmp_path / "set"))) == 2
    other = tmp_path / "thesis"
    other.mkdir()
    (other / "chapter.txt").write_text("years of work")
    with pytest.raises(JaxenvError, match="choose another folder"):
        dataset.save(other)
    assert [path.name for path in other.iterdir()] == ["chapter.txt"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["set", "thesis"]


def test_the_card_carries_the_front_matter_that_names_the_data_file(tmp_path):
    lines = ((small_set().save(tmp_path / "set")) / "README.md").read_text().splitlines()
    assert lines[0] == "---" and "  data_files: boards.parquet" in lines[: lines.index("---", 1)]
    assert any(line.startswith("| 5 | 1 |") for line in lines)
