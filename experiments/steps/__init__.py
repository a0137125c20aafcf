"""One module per heavy step; each is run as a process of its own: `python -m experiments.steps.NAME JOB.json`."""
