"""A training stage's boards and job, for tests that start its process."""

import json

import jax

import jaxenv


def save_boards(folder, seed, count):
    """Boards of two agents and of all sizes, where the jobs of this folder look for them."""
    sizes = {str(size): {"data_ratio": 1 / 8, "hole_ratio": 0.2, "wait_ratio": 0.25} for size in range(3, 11)}
    config = jaxenv.EnvConfig.from_json({"maps": sizes}, num_agents=2)
    jaxenv.generate(jax.random.key(seed), config, count).save(folder / "boards")


def write_job(folder, name, **chosen):
    """The file of a job on the starter whose results go to `folder / name`; what is chosen comes on top."""
    job = {
        "name": "stage_0/policy",
        "out": str(folder / name),
        "metrics": str(folder / f"{name}.jsonl"),
        "model": "starter",
        "data": str(folder / "boards"),
        "stage": 0,
        "style": "compact",
        "objective": "sum_of_costs",
        "lora": None,
        "prior_valid": 0.4,
        "threads": 1,
        **chosen,
    }
    file = folder / f"{name}.json"
    file.write_text(json.dumps(job))
    return file
