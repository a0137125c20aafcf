"""The sampler of served models, against a server of our own."""

import asyncio
import contextlib
import http.server
import json
import threading

import pytest

from policy import costs, endpoint
from policy.costs import Ledger, Pace
from policy.endpoint import EndpointSampler
from policy.errors import BudgetError, PolicyError
from policy.sampling import SamplerSettings

KEY = "sk-very-secret"
faults = []


@pytest.fixture
def server(monkeypatch):
    """Answers each prompt with its own words, in upper case; `asked` are the bodies.

    `fault` is a status that every request gets instead; each of `faults` is one for a single request.
    """
    monkeypatch.setattr(endpoint, "_PAUSE", 0.0)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append({**body, "path": self.path, "key": self.headers.get("Authorization")})
            prompt = body["messages"][0]["content"]
            cut = len(prompt) > body["max_tokens"]
            choice = {"index": 0, "finish_reason": "length" if cut else "stop"}
            message = {"role": "assistant", "content": prompt.upper() if prompt != "silent" else None}
            if prompt.startswith("think"):
                message["reasoning_content"] = "first " + prompt
            answer = {"id": "1", "object": "chat.completion", "created": 0, "model": body["model"]}
            answer["choices"] = [{**choice, "message": message}] if prompt != "nothing" else []
            answer["usage"] = {"prompt_tokens": 1, "completion_tokens": len(prompt), "total_tokens": 1 + len(prompt)}
            text = json.dumps(answer).encode()
            status = fault[0] if fault else faults.pop(0) if faults else 200
            self.send_response(status)
            if status == 429:
                self.send_header("Retry-After", "1")
            if status == 302:
                self.send_header("Location", "http://elsewhere.example/")
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            with contextlib.suppress(OSError):  # the client may have given up
                self.wfile.write(text)

        def log_message(self, *_):
            pass

    asked, fault = [], []
    faults.clear()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        sampler = EndpointSampler(f"http://127.0.0.1:{running.server_port}/v1", "a-model", key=KEY)
        sampler.url = f"http://127.0.0.1:{running.server_port}/v1"
        yield sampler, asked, fault
        running.shutdown()
        thread.join()


def generate(sampler, prompts, **more):
    return sampler.generate(prompts, **{"max_tokens": 8, "temperature": 0.5, "seed": 7, **more})


def test_answers_come_in_the_order_of_their_prompts_with_tokens_and_truncation(server):
    sampler, asked, _ = server
    seen = []
    prompts = [f"p{number}" for number in range(40)] + ["much too long", "silent"]
    answers = generate(sampler, prompts, progress=lambda done, total: seen.append((done, total)))
    assert [answer.text for answer in answers] == [*(prompt.upper() for prompt in prompts[:-1]), ""]
    assert [answer.truncated for answer in answers] == [False] * 40 + [True, False]
    assert answers[0].tokens == 2 and answers[40].tokens == len("much too long")
    assert seen == [(number, 42) for number in range(1, 43)]
    assert {one["model"] for one in asked} == {"a-model"} and {one["temperature"] for one in asked} == {0.5}
    assert {one["seed"] for one in asked} == set(range(7, 49))  # no two requests draw alike
    assert {(one["path"], one["key"]) for one in asked} == {("/v1/chat/completions", f"Bearer {KEY}")}


@pytest.mark.parametrize(("status", "said"), [(401, "status 401"), (500, "status 500"), (302, "status 302")])
def test_a_refusal_is_one_line_without_the_key_and_a_redirect_is_not_followed(server, status, said):
    sampler, _, fault = server
    fault.append(status)
    with pytest.raises(PolicyError, match=said) as caught:
        generate(sampler, ["x", "y"])
    assert KEY not in str(caught.value) and "\n" not in str(caught.value)


def test_a_passing_fault_is_tried_again_and_a_lasting_one_is_not(server):
    sampler, asked, _ = server
    faults.extend([500, 503, 408])
    (answer,) = generate(sampler, ["hello"])
    assert answer.text == "HELLO" and len(asked) == 4 and len({one["seed"] for one in asked}) == 1
    faults.extend([400])
    with pytest.raises(PolicyError, match="status 400"):
        generate(sampler, ["hello"])
    assert len(asked) == 5


def test_after_several_tries_it_is_given_up(server):
    sampler, asked, fault = server
    fault.append(502)
    with pytest.raises(PolicyError, match="in 6 tries: the server answered with status 502"):
        generate(sampler, ["hello"])
    assert len(asked) == 6


def test_where_the_server_asks_for_a_pause_nobody_begins_before_its_end(server, monkeypatch):
    sampler, asked, _ = server
    monkeypatch.setattr(endpoint, "_LONGEST_PAUSE", 0.01)  # and no server can ask for longer than that
    rests = []
    monkeypatch.setattr(Pace, "rest", lambda self, seconds: rests.append(seconds))
    faults.append(429)
    assert [answer.text for answer in generate(sampler, ["a", "b"])] == ["A", "B"]
    assert rests == [0.01] and len(asked) == 3


def test_reasoning_in_a_field_of_its_own_comes_before_the_answer(server):
    (answer,) = generate(server[0], ["think"])
    assert answer.text == "<think>first think</think>THINK"


def test_an_exchange_and_a_schema_are_sent_as_they_are(server):
    sampler, asked, _ = server
    exchange = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]
    generate(sampler, [exchange], schema={"type": "object"})
    assert asked[0]["messages"] == exchange
    assert asked[0]["response_format"]["json_schema"]["schema"] == {"type": "object"}


def priced(server, log, budget):
    settings = SamplerSettings("openai", input_price=2.0, output_price=8.0, budget=budget)
    return EndpointSampler(server[0].url, "a-model", key=KEY, settings=settings, log=log)


def test_every_answer_has_its_cost_in_the_log_and_the_key_is_not_there(server, tmp_path):
    log = tmp_path / "costs.jsonl"
    generate(priced(server, log, None), ["one", "three"])
    rows = [json.loads(line) for line in log.read_text().splitlines()]
    assert sorted((row["prompt_tokens"], row["tokens"], row["tries"], row["counted"]) for row in rows) == [
        (1, 3, 1, True),
        (1, 5, 1, True),
    ]
    assert sum(row["cost"] for row in rows) == pytest.approx((2 * 2.0 + 8 * 8.0) / 1e6)
    assert KEY not in log.read_text()


def test_the_budget_is_never_exceeded_and_counts_what_an_earlier_call_has_spent(server, tmp_path):
    log, budget = tmp_path / "costs.jsonl", 1e-3
    with pytest.raises(BudgetError, match=r"sampler\.budget"):
        generate(priced(server, log, budget), ["word"] * 200)
    spent = sum(json.loads(line)["cost"] for line in log.read_text().splitlines())
    assert 0 < spent <= budget and len(server[1]) < 200
    with log.open("a") as stream:
        stream.write('{"cost": 1.0}\n{"cost": 0.')
    asked = len(server[1])
    with pytest.raises(BudgetError, match=r"\$1\.00"):
        generate(priced(server, log, 0.5), ["word"])
    assert len(server[1]) == asked


def test_what_is_set_aside_bounds_the_cost_and_stands_in_for_a_count_that_is_missing(tmp_path):
    ledger = Ledger(tmp_path / "log", 2.0, 8.0, 1.0)
    held = ledger.hold([{"role": "user", "content": "äöü"}], 100)
    assert held >= (3 * 2.0 + 100 * 8.0) / 1e6
    ledger.spend("m", held, 0, 0, 1)
    row = json.loads((tmp_path / "log").read_text())
    assert row["cost"] == pytest.approx(held) and not row["counted"]


def test_requests_start_no_closer_than_the_rate_allows(monkeypatch):
    clock = [100.0]

    async def sleep(seconds):
        starts.append(clock[0] + seconds)

    monkeypatch.setattr(costs.time, "monotonic", lambda: clock[0])
    monkeypatch.setattr(costs.asyncio, "sleep", sleep)
    pace, starts = Pace(30), []

    async def three():
        for _ in range(3):
            await pace.wait()
        pace.rest(10)
        await pace.wait()

    asyncio.run(three())
    assert starts == [102.0, 104.0, 110.0]


def test_an_answer_without_a_choice_is_no_answer(server):
    with pytest.raises(PolicyError, match="holds no choice"):
        generate(server[0], ["nothing"])


def test_a_server_that_is_not_there_is_one_line(monkeypatch):
    monkeypatch.setattr(endpoint, "_PAUSE", 0.0)
    with pytest.raises(PolicyError, match="cannot be reached"):
        generate(EndpointSampler("http://127.0.0.1:9/v1", "a-model"), ["x"])
    with pytest.raises(PolicyError, match="must begin with http"):
        EndpointSampler("example.com/v1", "a-model")
