"""Pairs for the warm start: shortest paths, symmetries that keep plans right, and the share of coordinated plans."""

import numpy as np
import pytest

import jaxenv
from experiments.boardtext import board_pairs, turn_actions, turn_cells, turn_map, walk_alone
from jaxenv.batches import take, to_numpy
from policy.compact import parse_compact

MAP = ["..H..", ".H...", "...H.", "H....", "....."]


@pytest.fixture(scope="module")
def boards():
    starts = [[(0, 0), (4, 4)], [(0, 1), (4, 0)], [(3, 3), (2, 0)]]
    goals = [[(4, 4), (0, 0)], [(4, 2), (1, 2)], [(0, 4), (2, 2)]]
    return to_numpy(jaxenv.make_instances([MAP] * 3, starts=starts, goals=goals))


@pytest.fixture(scope="module")
def solutions(boards):
    return to_numpy(jaxenv.solve(boards))


def follow(holes, cell, path):
    for action in path:
        down, right = [(0, 0), (-1, 0), (1, 0), (0, -1), (0, 1)][action]
        cell = (cell[0] + down, cell[1] + right)
        assert 0 <= cell[0] < 5 and 0 <= cell[1] < 5 and not holes[cell]
    return cell


def test_an_agent_that_walks_as_if_alone_takes_a_shortest_path(boards, solutions):
    for seed in range(20):
        paths = walk_alone(boards.holes, boards.starts, boards.goals, np.random.default_rng(seed))
        for board in range(3):
            lengths = 0
            for agent in range(2):
                end = follow(boards.holes[board], tuple(boards.starts[board, agent]), paths[board][agent])
                assert end == tuple(boards.goals[board, agent])
                lengths += len(paths[board][agent])
            assert paths[board][2:] == [[], [], []]
            assert lengths == solutions.single_path_bound[board]


def test_different_shortest_paths_are_drawn(boards):
    drawn = {
        tuple(walk_alone(boards.holes, boards.starts, boards.goals, np.random.default_rng(seed))[0][0])
        for seed in range(30)
    }
    assert len(drawn) > 1


@pytest.mark.parametrize("symmetry", range(8))
def test_a_turned_plan_walks_the_turned_cells(boards, symmetry):
    path = walk_alone(boards.holes, boards.starts, boards.goals, np.random.default_rng(0))[0][0]
    start, goal = turn_cells(np.stack([boards.starts[0, 0], boards.goals[0, 0]]), 5, symmetry)
    turned = turn_map(boards.holes[0, :5, :5], symmetry)
    assert follow(turned, tuple(start), turn_actions(path, symmetry)) == tuple(goal)


def test_the_eight_symmetries_differ(boards):
    maps = {turn_map(boards.holes[0, :5, :5], symmetry).tobytes() for symmetry in range(8)}
    assert len(maps) == 8


def test_coordinated_answers_are_optimal_plans_of_their_prompt(boards, solutions):
    for prompt, answer in board_pairs(boards, solutions, 1.0, np.random.default_rng(1)):
        words = prompt.split()
        cell = lambda word: tuple(int(part) for part in word[1:].split("c"))  # noqa: E731
        holes = {cell(word) for word in words[words.index("holes") + 1 : -1]}
        rows = ["".join("H" if (r, c) in holes else "." for c in range(5)) for r in range(5)]
        board = jaxenv.make_instances(
            [rows],
            starts=[[cell(words[words.index(f"a{agent}") + 1]) for agent in range(2)]],
            goals=[[cell(words[words.index(f"a{agent}") + 3]) for agent in range(2)]],
        )
        plans = jaxenv.make_plans([parse_compact(answer, 2)])
        assert jaxenv.verify(board, jaxenv.solve(board), plans).optimal[0]


def test_without_coordinated_plans_no_agent_waits_before_it_has_arrived(boards, solutions):
    for prompt, answer in board_pairs(boards, solutions, 0.0, np.random.default_rng(0)):
        words = prompt.split()
        for agent, actions in enumerate(parse_compact(answer, 2)):
            goal = words[words.index(f"a{agent}") + 3]
            reached = [word.partition(">")[2] for word in answer.split()[agent::2]].index(goal)
            assert 0 not in actions[: reached + 1]


def test_the_share_of_coordinated_plans_is_the_one_asked_for(solutions):
    """On a corridor with a bay the optimal plan waits, and a walk as if alone never does."""
    rows = ["HHH", "...", "H.H"]
    board = to_numpy(jaxenv.make_instances([rows], starts=[[(1, 0), (1, 2)]], goals=[[(1, 2), (1, 0)]]))
    many = np.zeros(400, np.int64)
    solution = take(to_numpy(jaxenv.solve(board)), many)
    pairs = board_pairs(take(board, many), solution, 0.35, np.random.default_rng(0))
    lengths = [len(parse_compact(answer, 2)[0]) for _, answer in pairs]
    assert set(lengths) == {2, int(solution.makespan[0])}
    assert lengths.count(2) / 400 == pytest.approx(0.65, abs=0.08)
