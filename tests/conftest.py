"""What every test runs under: one thread, JAX on the CPU, no network."""

import os

# Before anything imports JAX, torch or a hub client: they read these once.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_HUB_DISABLE_TELEMETRY"] = "1"

from hypothesis import settings

# A busy machine must not fail a property, and the same tree must give the same answer twice.
settings.register_profile("lakeloop", deadline=None, derandomize=True, max_examples=100)
settings.load_profile("lakeloop")
