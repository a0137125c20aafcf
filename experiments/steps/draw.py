"""One board with a plan and the verdict on it, as text, animated SVG and animated GIF.

Job: boards (a file), num_agents (of a scenario's boards), board (row), answer (text in the `full` style, or null for
the certified plan), out: a folder with `shown.txt`, `board.svg` and `board.gif`.
"""

from pathlib import Path

import numpy as np

import jaxenv
from experiments.boardfile import read_boards
from experiments.errors import ExperimentError
from experiments.gif import draw_gif
from experiments.stepio import read_job, write_text
from jaxenv.batches import take, to_numpy
from policy.texts import read_texts


def main() -> None:
    """Judge the answer, or the solver's own plan, and draw it."""
    job = read_job()
    boards, row = read_boards(Path(job["boards"]), int(job["num_agents"])), int(job["board"])
    if not 0 <= row < len(boards):
        raise ExperimentError(f"there is no board {row} in {job['boards']}; it holds {len(boards)}")
    board = take(to_numpy(boards), np.array([row]))
    solution = jaxenv.solve(board)
    plans = solution.plans
    if job["answer"] is not None:
        plans = read_texts([job["answer"]], board.num_agents, style="full", truncated=[False])
    verdicts = jaxenv.verify(board, solution, plans)
    out = Path(job["out"])
    out.mkdir(parents=True, exist_ok=True)
    write_text(out / "board.svg", jaxenv.draw_svg(board, plans=plans, verdicts=verdicts) + "\n")
    (out / "board.gif").write_bytes(draw_gif(board, plans, verdicts))
    write_text(out / "shown.txt", f"{jaxenv.draw_board(board)}\n{jaxenv.draw_plan(board, plans, verdicts)}\n")


if __name__ == "__main__":
    main()
