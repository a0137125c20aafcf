"""`solve FILE` on every kind of file, as a user types it."""

import json

import pytest

import jaxenv
from experiments.boardfile import read_boards
from experiments.errors import ExperimentError
from experiments.run import main

SWAP = "0b .\n1a .\n"
STUCK = "0b H\nH 1a\n"


def test_it_draws_the_plan_and_keeps_the_solutions_where_it_was_told(tmp_path, capfd):
    (tmp_path / "boards.txt").write_text(f"{SWAP}\n{STUCK}")
    out = tmp_path / "solved"
    assert main(["solve", str(tmp_path / "boards.txt"), "--out", str(out)]) == 0
    told = capfd.readouterr().out
    assert "certified: sum of costs 4, makespan 3, agents interact" in told
    assert "certified: it has no solution" in told
    assert "2 boards: 0 undetermined, 1 optimal, 1 unsolvable" in told
    assert (out / "board_0.svg").read_text().count("<animateTransform") == 2
    lines = [json.loads(line) for line in (out / "solutions.jsonl").read_text().splitlines()]
    assert [line["status"] for line in lines] == ["optimal", "unsolvable"]
    assert sum(len(agent) for agent in lines[0]["plan"]) == 4


def test_the_exit_code_says_that_a_board_was_left_undetermined(tmp_path, capfd):
    boards = jaxenv.benchmark("validation", num_agents=3, count=40).instances
    text = "\n\n".join(jaxenv.draw_board(boards, row) for row in range(len(boards)))
    (tmp_path / "boards.txt").write_text(text)
    assert main(["solve", str(tmp_path / "boards.txt"), "--max-steps", "1"]) == 1
    assert " 0 undetermined" not in capfd.readouterr().out


def test_every_kind_of_file_gives_the_same_boards(tmp_path):
    dataset = jaxenv.benchmark("validation", num_agents=2, count=24)
    folder = dataset.save(tmp_path / "set")
    boards = dataset.instances
    drawn = [jaxenv.draw_board(boards, row) for row in range(len(boards))]
    (tmp_path / "boards.txt").write_text("\n\n".join(drawn))
    records = [
        {
            "map": [
                "".join(cell[0] if cell[0] == "H" else "." for cell in line.split()) for line in board.splitlines()
            ],
            "starts": boards.starts[row, :2].tolist(),
            "goals": boards.goals[row, :2].tolist(),
        }
        for row, board in enumerate(drawn)
    ]
    (tmp_path / "boards.json").write_text(json.dumps(records))
    for path in (folder, folder / "boards.parquet", tmp_path / "boards.txt", tmp_path / "boards.json"):
        read = read_boards(path, 2)
        assert [jaxenv.draw_board(read, row) for row in range(len(read))] == drawn


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("boards.csv", "", "no set and no"),
        ("boards.json", "{", "is not JSON"),
        ("boards.json", "[]", "at least one"),
        ("boards.json", '[{"map": []}]', "board 0 lacks goals, starts"),
        ("boards.parquet", "no", "is not a Parquet file"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_line(tmp_path, name, content, said):
    (tmp_path / name).write_text(content)
    with pytest.raises(ExperimentError, match=said):
        read_boards(tmp_path / name, 2)


def test_a_missing_file_is_refused_in_one_line(tmp_path, capfd):
    assert main(["solve", str(tmp_path / "none.json")]) == 2
    assert capfd.readouterr().err.strip().splitlines()[-1].startswith("error: ")
