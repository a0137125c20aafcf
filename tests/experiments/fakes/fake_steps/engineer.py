from pathlib import Path

from fake_steps.common import begin, config, random_of, write_json

job = begin()
out, random = Path(job["out"]), random_of(job)
out.mkdir(parents=True)
share = {"samples": 2, "levels": {"0": 1, "1": 0, "2": 0, "3": 0, "refused": 1}, "temperature": 0.7}
replies = [{"reply": "{...}", "level": 0, "log": []}, {"reply": "oh <well>", "level": None, "log": ["no JSON object"]}]
write_json(out / "usable.json", {**share, "replies": replies})
(out / "prompt.txt").write_text("Design the boards.\n")
if not job["usable_only"]:
    proposal = {
        "engineer": "self",
        "variant": "V6",
        "level": 4,
        "config": config(random),
        "rationale": "larger maps",
        "steps": [
            {
                "reply": "I would rather ```skate```",
                "refused": "no JSON object found",
                "proposal": {"level": None, "log": [{"step": "refused", "before": "no JSON", "after": None}]},
            },
            {
                "reply": "{}",
                "refused": None,
                "proposal": {
                    "level": 2,
                    "log": [{"step": "hole_ratio clipped", "before": 0.7, "after": 0.5}],
                },
            },
            {"done": "reply used", "level": 4},
        ],
    }
    write_json(out / "proposal.json", proposal)
    (out / "reply.txt").write_text("{}\n")
    write_json(out / "evidence.json", {})
