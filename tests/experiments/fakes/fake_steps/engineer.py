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
        "steps": [
            {"prompt": "Design the boards.", "reply": "I would rather ```skate```", "level": None, "log": ["no JSON"]},
            {"prompt": "Again.", "reply": "{}", "level": 1, "log": ["a code fence was taken off"]},
        ],
    }
    write_json(out / "proposal.json", proposal)
    (out / "reply.txt").write_text("{}\n")
    write_json(out / "evidence.json", {})
