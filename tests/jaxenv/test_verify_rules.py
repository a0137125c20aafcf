"""The rules of the world on small boards whose verdict is known, and misuse of the verifier."""

import jax
import numpy as np
import pytest

import jaxenv
from jaxenv import Action, InstanceError, JaxenvError, Label, Status
from jaxenv.types import HORIZONS, Instances
from tests.jaxenv.plans import known, solutions_of

WAIT, UP, DOWN, LEFT, RIGHT = Action
OPEN = ["...", "...", "..."]


def verify_one(rows, starts, goals, plan, best=(0, 0), **options):
    """The verdict on one board, as plain Python values."""
    verdicts = jaxenv.verify(
        jaxenv.make_instances([rows], [starts], [goals]),
        solutions_of([Status.OPTIMAL], [best[0]], [best[1]]),
        jaxenv.make_plans([plan]),
        **options,
    )
    return jax.tree.map(lambda x: np.asarray(x)[0].tolist(), verdicts)


def test_following_into_a_cell_left_in_the_same_step_is_legal():
    plan = [[RIGHT], [RIGHT], [DOWN]]
    starts, goals = [(0, 0), (0, 1), (0, 2)], [(0, 1), (0, 2), (1, 2)]
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        verdict = verify_one(
            OPEN, [starts[a] for a in order], [goals[a] for a in order], [plan[a] for a in order], best=(3, 1)
        )
        assert (verdict.label, verdict.flags, verdict.sum_of_costs) == (Label.OPTIMAL, 0, 3)


def test_a_chain_that_runs_into_a_waiting_agent_collides_at_its_head_only():
    # The followers are behind one another and the head is blocked: only the head's cell is contested.
    verdict = verify_one(
        ["....", "....", "....", "...."],
        [(0, 0), (0, 1), (0, 2), (0, 3)],
        [(1, 0), (1, 1), (1, 2), (1, 3)],
        [[RIGHT], [RIGHT], [RIGHT], []],
    )
    assert (verdict.label, verdict.step, verdict.agents, verdict.cell) == (Label.VERTEX_CONFLICT, 0, [2, 3], [0, 3])


def test_rotations_of_three_and_four_are_legal():
    four = verify_one(
        OPEN,
        [(0, 0), (0, 1), (1, 1), (1, 0)],
        [(0, 1), (1, 1), (1, 0), (0, 0)],
        [[RIGHT], [DOWN], [LEFT], [UP]],
        best=(4, 1),
    )
    assert four.label == Label.OPTIMAL
    # Three agents and one free cell: the third follows into the cell that the first left.
    three = verify_one(
        ["..", ".."], [(0, 0), (0, 1), (1, 1)], [(0, 1), (1, 1), (1, 0)], [[RIGHT], [DOWN], [LEFT]], (3, 1)
    )
    assert three.label == Label.OPTIMAL


def test_a_swap_is_reported_with_the_step_and_both_agents():
    # MultiAgentLearning/playground/issues/76: a swap was accepted.
    verdict = verify_one(
        OPEN, [(2, 2), (0, 0), (0, 2)], [(2, 2), (0, 2), (0, 0)], [[], [WAIT, RIGHT, WAIT, RIGHT], [LEFT, WAIT, LEFT]]
    )
    assert (verdict.label, verdict.step, verdict.agents) == (Label.VERTEX_CONFLICT, 1, [1, 2])
    verdict = verify_one(
        OPEN, [(2, 2), (0, 0), (0, 2)], [(2, 2), (0, 2), (0, 0)], [[], [RIGHT, RIGHT, RIGHT], [WAIT, LEFT, LEFT]]
    )
    assert (verdict.label, verdict.flags) == (Label.SWAP_CONFLICT, 1 << Label.SWAP_CONFLICT)
    assert (verdict.step, verdict.agents, verdict.cell) == (1, [1, 2], [0, 2])


def test_an_agent_past_the_end_of_its_plan_stays_and_blocks():
    # sisl/TaskGraphs.jl/issues/2: parked for one component, gone for another.
    verdict = verify_one(OPEN, [(0, 1), (0, 0)], [(0, 1), (0, 2)], [[], [RIGHT, RIGHT]])
    assert (verdict.label, verdict.step, verdict.agents, verdict.cell) == (Label.VERTEX_CONFLICT, 0, [0, 1], [0, 1])


def test_an_agent_may_leave_its_goal_and_come_back_and_pays_for_the_stay():
    verdict = verify_one(
        OPEN, [(0, 1), (0, 0)], [(0, 1), (0, 2)], [[DOWN, WAIT, UP], [WAIT, RIGHT, RIGHT]], best=(5, 3)
    )
    # Agent 0 is on its goal for good from time 3 on, agent 1 too: the verifier says 6 and 3.
    assert (verdict.label, verdict.sum_of_costs, verdict.makespan) == (Label.SUBOPTIMAL, 6, 3)
    assert verdict.gap == pytest.approx(0.2)


def test_trailing_waits_cost_nothing_and_an_empty_plan_on_the_goal_is_optimal():
    verdict = verify_one(OPEN, [(0, 0), (2, 2)], [(0, 1), (2, 2)], [[RIGHT, WAIT, WAIT], []], best=(1, 1))
    assert (verdict.label, verdict.sum_of_costs, verdict.gap) == (Label.OPTIMAL, 1, 0)
    assert verify_one(OPEN, [(0, 0)], [(0, 0)], [[]]).label == Label.OPTIMAL


def test_all_offences_of_the_first_step_are_flagged_and_the_first_label_is_told():
    plan = [[UP], [RIGHT], [LEFT], [LEFT, UP]]
    verdict = verify_one(
        ["...", ".H.", "..."], [(0, 1), (1, 0), (2, 1), (2, 2)], [(0, 0), (0, 1), (0, 2), (1, 2)], plan
    )
    assert (verdict.label, verdict.agents, verdict.cell) == (Label.OFF_MAP, [0, -1], [0, 1])
    assert verdict.flags == 1 << Label.OFF_MAP | 1 << Label.HOLE


def test_a_hole_at_the_edge_and_the_end_of_the_map_are_told_apart_on_every_size():
    for size in range(3, 11):
        rows = ["." * size] * (size - 1) + ["." * (size - 1) + "H"]
        at = (size - 1, size - 2)
        assert verify_one(rows, [at], [(0, 0)], [[RIGHT]]).label == Label.HOLE
        assert verify_one(rows, [at], [(0, 0)], [[DOWN]]).label == Label.OFF_MAP
        for action, cell in ((UP, (0, 1)), (LEFT, (1, 0)), (DOWN, (size - 1, 0)), (RIGHT, (0, size - 1))):
            verdict = verify_one(rows, [cell], [(1, 1)], [[action]])
            assert (verdict.label, verdict.cell) == (Label.OFF_MAP, list(cell))


def test_following_an_agent_off_the_map_is_no_collision():
    verdict = verify_one(OPEN, [(0, 0), (0, 1)], [(0, 1), (0, 0)], [[LEFT], [LEFT]])
    assert (verdict.label, verdict.flags) == (Label.OFF_MAP, 1 << Label.OFF_MAP)


def test_costs_beyond_one_byte_add_up():
    # sotetsuk/pgx/pull/1034: int8 sums overflow.
    late = [[WAIT] * 126 + [RIGHT] for _ in range(5)]
    starts = [(row, 0) for row in range(5)]
    verdict = verify_one(["....."] * 5, starts, [(row, 1) for row in range(5)], late, best=(5, 1))
    assert (verdict.label, verdict.sum_of_costs, verdict.makespan) == (Label.SUBOPTIMAL, 635, 127)
    assert verdict.gap == 126


@pytest.mark.parametrize("outcome", [Label.TRUNCATED, Label.PARSE_ERROR, Label.AGENT_MISMATCH, Label.TOO_LONG])
def test_what_the_text_reader_found_comes_first(outcome):
    instances = jaxenv.make_instances([OPEN] * 2, [[(0, 0)]] * 2, [[(0, 1)]] * 2)
    plans = jaxenv.make_plans([[[UP]], [[RIGHT]]]).replace(outcome=np.full(2, outcome, np.int32))
    verdicts = jaxenv.verify(instances, known(2, total=1, makespan=1), plans)
    for k in range(2):
        assert (int(verdicts.label[k]), int(verdicts.flags[k])) == (outcome, 1 << outcome)
        assert not verdicts.valid[k] and int(verdicts.sum_of_costs[k]) == int(verdicts.step[k]) == -1


def test_an_action_that_is_none_and_a_length_beyond_the_array_are_not_repaired():
    instances = jaxenv.make_instances([OPEN] * 3, [[(0, 0)]] * 3, [[(0, 0)]] * 3)
    plans = jaxenv.make_plans([[[WAIT, WAIT]]] * 3)
    actions, lengths = np.array(plans.actions), np.array(plans.lengths)
    actions[0, 0, 1], actions[1, 0, 1], lengths[2, 0] = 5, -1, 33
    verdicts = jaxenv.verify(instances, known(3), plans.replace(actions=actions, lengths=lengths))
    assert verdicts.label.tolist() == [Label.PARSE_ERROR, Label.PARSE_ERROR, Label.TOO_LONG]


def test_the_objective_decides_what_is_optimal():
    board = OPEN, [(0, 0)], [(0, 1)], [[DOWN, RIGHT, UP]]
    assert verify_one(*board, best=(3, 2)).label == Label.OPTIMAL
    verdict = verify_one(*board, best=(3, 2), objective="makespan")
    assert (verdict.label, verdict.gap) == (Label.SUBOPTIMAL, 0.5)


@pytest.mark.parametrize(
    ("status", "best", "fault"),
    [
        (Status.OPTIMAL, (3, 3), False),
        (Status.OPTIMAL, (4, 3), True),
        (Status.OPTIMAL, (3, 4), True),  # of the other objective, but proven all the same
        (Status.UNSOLVABLE, (-1, -1), True),
        (Status.UNDETERMINED, (-1, -1), False),
    ],
)
def test_a_valid_plan_that_contradicts_the_solver_is_a_fault_of_the_solver(status, best, fault):
    verdicts = jaxenv.verify(
        jaxenv.make_instances([OPEN], [[(0, 0)]], [[(0, 1)]]),
        solutions_of([status], [best[0]], [best[1]]),
        jaxenv.make_plans([[[DOWN, RIGHT, UP]]]),
    )
    assert bool(verdicts.flags[0] >> Label.SOLVER_FAULT & 1) == fault
    assert verdicts.valid[0] and int(verdicts.label[0]) in (Label.OPTIMAL, Label.SUBOPTIMAL)
    assert bool(np.isnan(verdicts.gap[0])) == (status != Status.OPTIMAL)


def test_an_invalid_plan_on_an_unsolvable_board_is_no_fault():
    verdicts = jaxenv.verify(
        jaxenv.make_instances([OPEN], [[(0, 0)]], [[(0, 1)]]),
        known(1, Status.UNSOLVABLE),
        jaxenv.make_plans([[[DOWN]]]),
    )
    assert int(verdicts.flags[0]) == 1 << Label.GOAL_NOT_REACHED


def test_a_start_off_the_map_is_off_it_at_the_first_step_whatever_the_actions_are():
    # The constructors refuse such boards; arrays made by hand are judged, not repaired.
    instances = jaxenv.make_instances([OPEN] * 5, [[(0, 0), (2, 2)]] * 5, [[(0, 1), (2, 2)]] * 5)
    starts = np.array(instances.starts)
    starts[:, 0] = [(3, 0), (-1, 0), (0, 200), (256, 256), (0, 0)]
    plans = jaxenv.make_plans([[[UP], []], [[DOWN], []], [[LEFT], []], [[RIGHT], []], [[RIGHT], []]])
    verdicts = jaxenv.verify(instances.replace(starts=starts), known(5, total=1, makespan=1), plans)
    assert verdicts.label.tolist() == [Label.OFF_MAP] * 4 + [Label.OPTIMAL]
    assert (verdicts.step.tolist(), verdicts.agents[0].tolist()) == ([0, 0, 0, 0, -1], [0, -1])
    assert verdicts.cell[:4].tolist() == [[-1, -1]] * 4


def test_a_goal_off_the_map_and_a_negative_length_are_not_taken_for_others():
    instances = jaxenv.make_instances([OPEN] * 2, [[(0, 0)]] * 2, [[(0, 0)]] * 2)
    goals, plans = np.array(instances.goals), jaxenv.make_plans([[[]]] * 2)
    goals[0, 0], lengths = (256, 256), np.array(plans.lengths)
    lengths[1, 0] = -1
    verdicts = jaxenv.verify(instances.replace(goals=goals), known(2), plans.replace(lengths=lengths))
    assert verdicts.label.tolist() == [Label.GOAL_NOT_REACHED, Label.PARSE_ERROR]


def test_two_agents_that_leave_the_map_at_neighbouring_rows_have_not_met():
    for size in (2, 9, 10):
        rows = ["." * size] * size
        verdict = verify_one(rows, [(0, size - 1), (1, 0)], [(0, 0), (1, 1)], [[RIGHT], [LEFT]])
        assert (verdict.label, verdict.flags) == (Label.OFF_MAP, 1 << Label.OFF_MAP)


def test_agents_that_a_board_lacks_neither_block_nor_collide():
    # Padding agents stand at (10, 10), next to the corner of the largest map.
    size = 10
    rows, start, goal = ["." * size] * size, [(9, 8), (8, 9)], [(9, 9), (9, 8)]
    verdict = verify_one(rows, start, goal, [[RIGHT], [LEFT, DOWN]], best=(3, 2))
    assert (verdict.label, verdict.flags) == (Label.OPTIMAL, 0)
    verdict = verify_one(rows, start, goal, [[RIGHT, RIGHT], []])
    assert (verdict.label, verdict.step, verdict.cell) == (Label.OFF_MAP, 1, [9, 9])


def test_no_boards_give_no_verdicts():
    nothing = jaxenv.verify(jaxenv.make_instances([], [], []), known(0), jaxenv.make_plans([]))
    assert len(nothing) == 0


def test_arguments_that_do_not_go_together_are_refused():
    instances, plans = jaxenv.make_instances([OPEN], [[(0, 0)]], [[(0, 1)]]), jaxenv.make_plans([[[RIGHT]]])
    with pytest.raises(InstanceError, match="do not go together"):
        jaxenv.verify(instances, known(2), plans)
    with pytest.raises(InstanceError, match="do not go together"):
        jaxenv.verify(instances, known(1), jaxenv.make_plans([[[RIGHT]], [[RIGHT]]]))
    nobody = instances.replace(starts=np.zeros((1, 0, 2), np.int32), goals=np.zeros((1, 0, 2), np.int32))
    with pytest.raises(InstanceError, match="1 to 15 agents; got 10 and 0"):
        no_lists = plans.replace(actions=np.zeros((1, 0, 32), np.int8), lengths=np.zeros((1, 0), np.int32))
        jaxenv.verify(nobody, known(1), no_lists)
    with pytest.raises(InstanceError, match="129 steps"):
        jaxenv.verify(instances, known(1), plans.replace(actions=np.zeros((1, 5, HORIZONS[-1] + 1), np.int8)))
    with pytest.raises(JaxenvError, match="'cost' is unknown"):
        jaxenv.verify(instances, known(1), plans, objective="cost")
    for name, dtype in (("actions", np.float32), ("actions", np.int64), ("lengths", bool), ("outcome", np.float32)):
        with pytest.raises(InstanceError, match=f"plans.{name}.*{np.dtype(dtype).name}"):
            wrong = plans.replace(**{name: np.asarray(getattr(plans, name)).astype(dtype)})
            jaxenv.verify(instances, known(1), wrong)
    with pytest.raises(InstanceError, match=r"instances.holes.*int32"):
        jaxenv.verify(instances.replace(holes=np.asarray(instances.holes, np.int32)), known(1), plans)
    one = np.ones(1, np.int32)
    large = Instances(14 * one, one, np.zeros((1, 14, 14), bool), *[np.zeros((1, 5, 2), np.int32)] * 2)
    with pytest.raises(InstanceError, match="up to 13"):
        jaxenv.verify(large, known(1), plans)
