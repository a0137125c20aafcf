"""The HTML page: safe whatever a model wrote, and as it should be in a real browser."""

import shutil
from html.parser import HTMLParser

import pytest

from experiments.reports.blocks import Board, Boards, Figure, Report, Section, Table, Text, folded, row
from experiments.reports.charts import Plot, bounds, ticks
from experiments.reports.heat import heat_map
from experiments.reports.page import to_html

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


class Seen(HTMLParser):
    """The tags of a page, their attributes, and where its links go."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.targets = set(), set(), set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.targets |= {value for name, value in attrs if name == "href"}


def page(*blocks):
    return to_html(Report("a title", "a verdict", (Section("A part", blocks),)))


@pytest.mark.parametrize(
    "evil",
    [
        "<script>alert(1)</script>",
        "a <img src=https://evil.example/x onerror=alert(1)> b",
        "![x](https://evil.example/x.png)",
        "<https://evil.example>",
        '<details><summary>x</summary><iframe src="https://evil.example"></iframe></details>',
        "<div>\n<script src=//evil.example></script>\n</div>",
        "[x](javascript:alert(1)) [y](https://evil.example)",
        "<style>@import url(https://evil.example)</style>",
    ],
)
def test_what_a_model_wrote_is_text_and_never_markup(evil):
    html = page(
        Text(evil),
        Text(folded("a summary <b>", f"- said: {evil}\n\n```\n{evil}\n```")),
        Table((evil,), (row(evil, [evil]),)),
        Boards((Board(evil, evil, "<svg></svg>"),)),
    )
    body = html.partition("<body>")[2]
    seen = Seen()
    seen.feed(body)
    assert not seen.tags & {"script", "img", "iframe", "style", "link", "object", "form"}
    assert not seen.attributes & {"src", "onerror", "onload"}
    assert all(target.startswith("#") for target in seen.targets)
    assert "<details><summary>a summary &lt;b&gt;</summary>" in body


def test_the_page_forbids_itself_every_request_and_needs_no_script():
    html = page(Text("x"))
    assert "default-src 'none'" in html and "<script" not in html
    assert "prefers-color-scheme: dark" in html


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0.58, 0.74), (-3, 17), (1, 48), (0, 1e-4), (0, 12345)])
def test_ticks_are_round_and_within_the_bounds(low, high):
    values = [value for value, _ in ticks(low, high)]
    assert 2 <= len(values) <= 8
    assert all(low - 1e-9 <= value <= high * (1 + 1e-9) for value in values)
    assert len({text for _, text in ticks(low, high)}) == len(values)


def test_marks_stay_within_the_plot_and_what_is_no_number_is_left_out():
    plot = Plot("p", (0, 1), (0, 1))
    empty = plot.svg()
    plot.dot(float("nan"), 0.5, 0, "x")
    plot.upright(0.5, float("nan"), 1, 0)
    assert plot.svg() == empty
    plot.dot(99, -99, 0, "far <away>")
    assert 'cx="348" cy="194"' in plot.svg() and "far &lt;away&gt;" in plot.svg()


def test_bounds_have_room_and_never_collapse():
    assert bounds([]) == (0.0, 1.0)
    low, high = bounds([0.3, 0.3])
    assert low < 0.3 < high
    assert bounds([0.2, 0.8], least=0.0)[0] == 0.0


def test_a_change_for_the_better_has_another_colour_than_one_for_the_worse():
    drawn = heat_map("h", ["fails", "right"], ["3"], [[-0.2], [0.2]], top=1, told=[["a"], ["b"]], rises=[False, True])
    assert drawn.count('class="better"') == 2 and "worse" not in drawn and "-20" in drawn and "+20" in drawn
    drawn = heat_map("h", ["fails", "right"], ["3"], [[0.2], [-0.2]], top=1, told=[["a"], ["b"]], rises=[False, True])
    assert drawn.count('class="worse"') == 2


def test_a_figures_panels_and_keys_are_on_the_page():
    html = page(Figure("fig", "a caption", (Plot("one", (0, 1), (0, 1)).svg(),), ("a key",), 3))
    assert '<figure id="fig">' in html and '<li class="s3">a key</li>' in html and 'class="panel"' in html


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("there is no Chromium on this machine; `make browser` installs it where it can")
    with pytest.importorskip("playwright.sync_api").sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.mark.parametrize(
    ("width", "scheme", "scripts"),
    [(1280, "light", True), (400, "dark", True), (1280, "dark", False), (400, "light", False)],
)
def test_the_page_is_whole_in_a_browser_and_asks_for_nothing(browser, finished, width, scheme, scripts):
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, java_script_enabled=scripts
    )
    opened = context.new_page()
    said, asked = [], []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda error: said.append(str(error)))
    opened.on("request", lambda request: asked.append(request.url))
    url = (finished.report.parent / "report.html").as_uri()
    opened.goto(url)
    assert said == [] and [name for name in asked if not name.startswith("data:")] == [url]
    # Nothing is wider than the screen: wide tables scroll within their own frame.
    whole = opened.locator("body").bounding_box()
    assert whole["width"] <= width
    for section in opened.locator("section").all():
        box = section.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width
    tables = [table for table in opened.locator("section table").all() if table.is_visible()]
    plots = [plot for plot in opened.locator("svg.panel").all() if plot.is_visible()]
    assert len(tables) >= 5 and len(plots) >= 12
    for plot in plots:
        box = plot.bounding_box()
        assert box["width"] >= 0.7 * min(width, 400) and box["height"] > 50
        assert box["x"] + box["width"] <= width
    assert opened.locator("tr.published").count() >= 8 and opened.get_by_text("published").first.is_visible()
    light = sum(map(int, _colour(opened))) > 3 * 128 if scripts else None
    assert light in (None, scheme == "light")
    context.close()


def _colour(opened):
    found = opened.evaluate("getComputedStyle(document.body).backgroundColor")
    return found.removeprefix("rgb(").rstrip(")").split(",")
