from pathlib import Path

from fake_steps.common import begin, metrics, random_of, verdicts, write_json, write_table

job = begin()
out, random = Path(job["out"]), random_of(job)
out.mkdir(parents=True, exist_ok=True)
(out / "half.txt").unlink(missing_ok=True)
for step in range(1, 4):
    metrics(job, stage=job["stage"], step=step, reward=0.1 * step, valid=0.2 + 0.1 * step)
rate = 0.4 + 0.1 * job["stage"]
write_table(out / "rollouts.parquet", verdicts(random, 160, rate, groups=8))
(out / "model.safetensors").write_bytes(random.bytes(64))
write_json(out / "summary.json", {"steps": 3, "prior": job["prior_valid"]})
