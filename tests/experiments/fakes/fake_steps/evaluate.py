from pathlib import Path

from fake_steps.common import begin, random_of, verdicts, write_table

job = begin()
out, random = Path(job["out"]), random_of(job)
out.mkdir(parents=True, exist_ok=True)
(out / "half.txt").unlink(missing_ok=True)
for name in job["sets"]:
    table = verdicts(random, 320, 0.5 + 0.1 * job["stage"], agents=3 if name == "learn3" else 2)
    write_table(out / f"{name}.parquet", table)
