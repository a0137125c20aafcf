"""The config of stage 0: drawn at random, before anything is known. Job: out (JSON file), seed, num_agents."""

import json

import numpy as np

import jaxenv
from engineer.synthetic import random_maps
from experiments.stepio import read_job, write_json


def main() -> None:
    """Draw and write it."""
    job = read_job()
    maps = random_maps(np.random.default_rng(job["seed"]))
    config = jaxenv.EnvConfig.from_json({"maps": maps}, num_agents=job["num_agents"])
    write_json(job["out"], json.loads(config.to_json()))


if __name__ == "__main__":
    main()
