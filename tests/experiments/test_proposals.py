"""Proposals as tables: side by side in a terminal, audit and preview in the report."""

import json

from engineer.audit import audit
from engineer.teacher import teacher
from experiments.proposals import audit_table, preview_tables, side_by_side
from experiments.recipe import load
from experiments.report_engineer import engineer_section
from tests.engineer.stages import flat, slope, stage


def previewed(**signal):
    """A preview of ten groups for each size named, of which so many carry a signal and one is all right."""
    sizes = {
        size[1:]: {"groups": 10, "wrong": 9 - mixed, "right": 1, "signal": mixed / 10} for size, mixed in signal.items()
    }
    return {"signal": sum(signal.values()) / (10 * len(signal)), "sizes": sizes}


def proposal(maps, level, *, preview=None, replies=1, **more):
    made = {"level": level, "config": {"maps": maps}, "steps": [{"reply": ""}] * replies + [{"done": ""}], **more}
    return {**made, **({"preview": preview} if preview else {})}


def test_proposals_stand_side_by_side_with_their_previews():
    shown = side_by_side(
        {
            "self-V6": proposal(slope(), 0, preview=previewed(s3=5, s10=0)),
            "random": proposal(flat(), 4, replies=3),
        }
    )
    assert shown.splitlines() == [
        "                          self-V6                   random",
        "    size    data hole wait signal    data hole wait signal",
        f" {57 * '─'}",
        "       3       2    5   10     50      12   20   25      -",
        "       4       5   10   20      -      12   20   25      -",
        "       5       8   15   30      -      12   20   25      -",
        "       6      11   20   40      -      12   20   25      -",
        "       7      14   25   50      -      12   20   25      -",
        "       8      17   30   60      -      12   20   25      -",
        "       9      20   35   70      -      12   20   25      -",
        "      10      23   40   80      0      12   20   25      -",
        "   level                        0                        4",
        " replies                        1                        3",
        "  signal                       25                        -",
        "Ratios in percent; signal: percent of the previewed groups with valid and invalid answers, - without any.",
    ]


def test_the_audit_says_in_numbers_what_each_change_answered_to():
    followed = proposal({}, 0, audit=audit(stage(), flat(), teacher(stage())))
    template = proposal({}, 0, audit=audit(stage(), flat(), slope()))
    lines = audit_table({0: followed, 1: template, 2: proposal({}, 0)})
    assert lines[3].startswith("| after stage | boards moved | holes | waits | sizes kept | signal gained |")
    cells = [line.strip("| ").replace(" | ", " ") for line in lines[5:]]
    assert cells[0] == "0 0.22 0.12 0.09 none +0.16 +0.96 +1.00 -0.33 conflict 41% -0.05 none"
    assert cells[1] == "1 0.24 0.10 0.25 none -0.06 -0.33 -0.99 +0.98 conflict 41% +0.34 template"
    assert len(lines) == 7, "a proposal from before there was an audit has no row"
    assert audit_table({0: proposal({}, 0)}) == []


def test_previews_show_the_proposal_taken_and_those_it_was_chosen_from():
    other = proposal({}, 4, preview=previewed(s3=1))
    lines = preview_tables(proposal({}, 0, preview=previewed(s3=9, s4=0), others=[other]))
    assert lines[3] == "| size | taken | proposal not taken, level 4 |"
    assert lines[5] == "| 3 | 9 of 10: 0.90 (0.60 to 0.98) | 1 of 10: 0.10 (0.02 to 0.40) |"
    assert lines[6] == "| 4 | 0 of 10: 0.00 (0.00 to 0.28) |  |"
    assert lines[-1].startswith("| all | 9 of 20: 0.45") and len(lines) == 14
    assert preview_tables(proposal({}, 0)) == []


def test_the_report_has_both_where_the_run_has_them(copy):
    path = copy.path / "stage_0" / "engineer" / "proposal.json"
    recipe = load(str(copy.path / "recipe.yaml"))
    plain = engineer_section(copy.path, recipe)
    assert "What each change answered to" not in plain and "Preview" not in plain
    more = {"audit": audit(stage(), flat(), slope()), "preview": previewed(s3=2)}
    path.write_text(json.dumps(json.loads(path.read_text()) | more))
    text = engineer_section(copy.path, recipe)
    assert "| 0 | 0.24 |" in text and "2 of 10: 0.20" in text
    assert text.index("What each change answered to") < text.index("### After stage 0") < text.index("Preview: groups")
