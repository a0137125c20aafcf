import json
from pathlib import Path

from fake_steps.common import SIZES, begin, random_of, write_json

job = begin()
out = Path(job["out"])
if "sets" in job:
    for name in job["sets"]:
        (out / name).mkdir(parents=True)
        write_json(out / name / "metadata.json", {"name": name})
else:
    random = random_of(job)
    out.mkdir(parents=True)
    count = job["count"]
    maps = json.loads(Path(job["config"]).read_text())["maps"]
    requested = {size: {**maps[size], "count": round(count * maps[size]["data_ratio"])} for size in maps}
    realised = {
        str(size): {"count": requested[str(size)]["count"], "hole_ratio": 0.21, "wait_ratio": 0.25, "undetermined": 1}
        for size in SIZES
    }
    write_json(
        out / "metadata.json",
        {
            "requested": {"count": count, "sizes": requested},
            "realised": {"count": count, "sizes": realised, "changed": []},
            "boards": random.integers(0, 99, 8).tolist(),
        },
    )
