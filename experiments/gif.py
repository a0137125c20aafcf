"""A board and a plan as an animated GIF, for where an SVG does not move."""

from functools import partial
from io import BytesIO
from math import ceil

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from jaxenv import Instances, Plans, Verdicts
from jaxenv.draw import describe_verdict
from jaxenv.svg import CELL, EDGE, SECONDS, centre, colour, walks

_BETWEEN = 4  # frames of one step
_REST = 1.5  # seconds on the last frame
_CAPTION = 20  # pixels
_OFFENCE = "#c00020"
_FONT = partial(ImageFont.load_default, 10)


def draw_gif(instances: Instances, plans: Plans, verdicts: Verdicts, index: int = 0) -> bytes:
    """Board `index` with its agents walking to the offending step, or to the end; the contested cell is marked then."""
    steps = np.array(walks(instances, index, plans, verdicts), float)  # [A, T + 1, 2]
    times = np.arange((steps.shape[1] - 1) * _BETWEEN + 1) / _BETWEEN
    captions = [f"step {int(time)}" for time in times[:-1]] + [describe_verdict(verdicts, index)]
    side = int(instances.size[index]) * CELL + 2 * EDGE
    width = max(side, *(ceil(_FONT().getlength(caption)) + 2 * EDGE for caption in captions))
    cell = np.asarray(verdicts.cell)[index].tolist()
    frames = []
    for time, caption in zip(times, captions, strict=True):
        at = int(time)
        share = time - at
        after = steps[:, min(at + 1, steps.shape[1] - 1)]
        marked = cell if time == times[-1] and cell[0] >= 0 else None
        places = (1 - share) * steps[:, at] + share * after
        frames.append(_frame(instances, index, places, caption, marked, (width, side + _CAPTION)))
    durations = [int(1000 * SECONDS / _BETWEEN)] * (len(frames) - 1) + [int(1000 * _REST)]
    file = BytesIO()
    frames[0].save(file, "GIF", save_all=True, append_images=frames[1:], duration=durations, loop=0, disposal=1)
    return file.getvalue()


def _frame(
    instances: Instances, index: int, agents: np.ndarray, told: str, marked: list[int] | None, shape: tuple[int, int]
) -> Image.Image:
    size = int(instances.size[index])
    holes, goals = (np.asarray(field)[index] for field in (instances.holes, instances.goals))
    font = _FONT()
    image = Image.new("RGB", shape, "#f4f8fb")
    draw = ImageDraw.Draw(image)
    for row in range(size):
        for col in range(size):
            x, y = EDGE + col * CELL, EDGE + row * CELL
            fill = "#274060" if holes[row, col] else "#ffffff"
            draw.rectangle((x, y, x + CELL, y + CELL), fill=fill, outline="#c3d3df")
    for agent in range(len(agents)):
        x, y = centre(goals[agent].tolist())
        draw.ellipse((x - 13, y - 13, x + 13, y + 13), outline=colour(agent), width=3)
    for agent, place in enumerate(agents.tolist()):
        x, y = centre(place)
        draw.ellipse((x - 9, y - 9, x + 9, y + 9), fill=colour(agent))
        draw.text((x, y), str(agent), fill="#ffffff", font=font, anchor="mm")
    if marked is not None:
        x, y = centre(marked)
        half = CELL // 2 - 1
        draw.rectangle((x - half, y - half, x + half, y + half), outline=_OFFENCE, width=3)
    draw.text((EDGE, shape[1] - _CAPTION), told, fill="#22303c", font=font)
    return image.quantize(64)
