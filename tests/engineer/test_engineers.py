"""The engineers: with and without a model, all asked in one way."""

import contextlib
import dataclasses
import http.server
import json
import threading
import time

import pytest

from engineer.engineers import NAMES, OpenAIEngineer, SampledEngineer, rule_engineer
from engineer.errors import AskError, UnknownEngineerError
from engineer.proposal import EXACT, maps_of, propose
from engineer.rules import RULES, Situation
from engineer.schema import json_schema
from engineer.teacher import focused_shares
from jaxenv.schema import SIZES
from tests.engineer.stages import flat, flat_config, slope, stage

ASKED = [{"role": "user", "content": "prompt"}]
SITUATION = Situation(stage(), slope(), 0, 3, 2, seed=4)


def mean_size(maps):
    return sum(size * maps[str(size)]["data_ratio"] for size in SIZES)


@pytest.mark.parametrize("name", RULES)
def test_every_rule_answers_with_an_exact_reply_and_always_the_same(name):
    reply = rule_engineer(name, SITUATION)(ASKED)
    assert propose(reply, flat_config()).level == EXACT
    assert rule_engineer(name, SITUATION)(ASKED) == reply


def test_an_unknown_engineer_is_refused_with_all_names():
    with pytest.raises(UnknownEngineerError, match=", ".join(NAMES)):
        rule_engineer("nobody", SITUATION)


def test_fixed_keeps_the_previous_config_to_the_last_decimal():
    odd = flat(data=1 / 8, hole=1 / 7, wait=1 / 3)
    config = propose(rule_engineer("fixed", dataclasses.replace(SITUATION, previous=odd))(ASKED), None).config
    assert maps_of(config) == maps_of(flat_config(hole=1 / 7, wait=1 / 3))


def test_random_looks_at_nothing_but_seed_and_stage():
    blind = dataclasses.replace(SITUATION, evidence=stage(dict.fromkeys(SIZES, 0)), previous=flat())
    assert RULES["random"](blind) == RULES["random"](SITUATION)
    for change in ({"seed": 5}, {"stage": 1}):
        assert RULES["random"](dataclasses.replace(SITUATION, **change)) != RULES["random"](SITUATION)


def test_the_curriculum_grows_with_the_stage_whatever_the_evidence():
    plans = [RULES["curriculum"](dataclasses.replace(SITUATION, stage=number, stages=4)) for number in range(3)]
    sizes = [mean_size(maps) for maps in plans]
    holes = [maps["5"]["hole_ratio"] for maps in plans]
    assert sizes == sorted(set(sizes)) and holes == sorted(set(holes))
    blind = dataclasses.replace(SITUATION, evidence=stage(dict.fromkeys(SIZES, 0)), stages=4)
    assert RULES["curriculum"](blind) == plans[0]


def centred(focus):
    shares = focused_shares(focus)
    return {size: {**values, "data_ratio": shares[int(size)]} for size, values in flat().items()}


def test_adarft_moves_toward_larger_maps_above_its_target_and_back_below_it():
    def moved(valid):
        evidence = stage(dict.fromkeys(SIZES, valid))
        maps = RULES["rule"](dataclasses.replace(SITUATION, evidence=evidence, previous=centred(6)))
        return mean_size(maps)

    assert moved(2) < moved(10) < moved(19)
    means = [moved(valid) for valid in range(0, 21, 2)]
    assert means == sorted(means)


def open_sizes(maps):
    return [size for size in SIZES if maps[str(size)]["data_ratio"] > 0]


def test_rlve_opens_the_next_size_when_the_last_is_mastered_and_closes_it_when_it_is_lost():
    window = {size: {**values, "data_ratio": 0.5 if size in "45" else 0.0} for size, values in flat().items()}

    def opened(**valid):
        evidence = stage({size: valid.get(f"s{size}", 10) for size in SIZES})
        return open_sizes(RULES["rule-rlve"](dataclasses.replace(SITUATION, evidence=evidence, previous=window)))

    assert opened() == [4, 5]
    assert opened(s5=19) == [4, 5, 6]
    assert opened(s4=19, s5=19) == [5, 6]
    assert opened(s5=1) == [4]


def test_rlve_moves_the_holes_of_mastered_and_lost_sizes_only():
    evidence = stage({size: {3: 20, 10: 0}.get(size, 10) for size in SIZES})
    maps = RULES["rule-rlve"](dataclasses.replace(SITUATION, evidence=evidence, previous=flat()))
    assert [maps[str(size)]["hole_ratio"] for size in (3, 4, 10)] == [0.25, 0.2, 0.15]


@dataclasses.dataclass
class Said:
    text: str


class Recorder:
    def __init__(self):
        self.calls = []

    def generate(self, prompts, *, max_tokens, temperature, seed, schema):
        self.calls.append((prompts, max_tokens, temperature, seed))
        self.schema = schema
        return [Said(f"reply {len(self.calls)}")]


def test_a_model_is_asked_at_its_temperature_first_and_with_new_seeds_afterwards():
    sampler = Recorder()
    engineer = SampledEngineer(sampler, max_tokens=9, temperature=0.0, retry_temperature=0.7, seed=40)
    assert [engineer(ASKED) for _ in range(3)] == ["reply 1", "reply 2", "reply 3"]
    assert sampler.calls == [([ASKED], 9, 0.0, 40), ([ASKED], 9, 0.7, 41), ([ASKED], 9, 0.7, 42)]


def test_only_a_constrained_model_is_held_to_the_schema():
    sampler = Recorder()
    for constrained in (False, True):
        engineer = SampledEngineer(
            sampler, max_tokens=9, temperature=0.0, retry_temperature=0.7, seed=0, constrained=constrained
        )
        engineer(ASKED)
        assert sampler.schema == (json_schema() if constrained else None)


def test_a_dialogue_reaches_the_sampler_message_by_message():
    sampler = Recorder()
    engineer = SampledEngineer(sampler, max_tokens=9, temperature=0.0, retry_temperature=0.7, seed=0)
    exchange = [*ASKED, {"role": "assistant", "content": "bad"}, {"role": "user", "content": "again"}]
    engineer(exchange)
    assert sampler.calls[0][0] == [exchange]


@pytest.fixture
def server():
    """A server on loopback that gives the prepared (status, headers, body) and keeps what it was sent."""
    answers, seen = [], []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = self.rfile.read(int(self.headers["Content-Length"]))
            seen.append((self.path, self.headers.get("Authorization"), json.loads(body)))
            status, headers, text = answers.pop(0)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            for pause, part in text if isinstance(text, list) else [(0, text)]:
                time.sleep(pause)
                with contextlib.suppress(OSError):  # the client may have given up
                    self.wfile.write(part)

        def log_message(self, *args):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}/v1", answers, seen
        running.shutdown()
        thread.join()


def completion(content):
    return json.dumps({"choices": [{"message": {"role": "assistant", "content": content}}]}).encode()


def test_a_server_is_asked_in_openais_protocol(server):
    url, answers, seen = server
    answers.append((200, {}, completion("the reply")))
    assert OpenAIEngineer(url, "some-model", key="secret-key", max_tokens=7)(ASKED) == "the reply"
    path, authorization, body = seen[0]
    assert (path, authorization) == ("/v1/chat/completions", "Bearer secret-key")
    assert body == {"model": "some-model", "messages": ASKED, "max_tokens": 7, "temperature": 0.0}


def test_a_server_that_is_asked_again_may_answer_otherwise_and_can_be_held_to_the_schema(server):
    url, answers, seen = server
    answers += [(200, {}, completion("one")), (200, {}, completion("two"))]
    engineer = OpenAIEngineer(url, "some-model", temperature=0.0, retry_temperature=0.7, constrained=True)
    assert [engineer(ASKED), engineer(ASKED)] == ["one", "two"]
    assert [body["temperature"] for _, _, body in seen] == [0.0, 0.7]
    assert seen[0][2]["response_format"]["json_schema"]["schema"] == json_schema()
    assert seen[0][1] is None, "without a key there is no header for it"


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (429, b"slow down"),
        (500, b""),
        (502, b"<html>"),
        (503, b"{}"),
        (504, b"late"),
        (401, b"Incorrect API key provided: secret-key"),
        (200, b"not json"),
        (200, b'{"choices": []}'),
        (200, b"[" * 100_000),
        (200, b"\xff"),
        (200, completion(None)),
        (200, completion(["text"])),
        (200, completion("secret-key")[:-1]),
        (200, b'{"choices": [{"message": {"content": "NaN"}, "secret-key": NaN'),
        (200, b"9" * 10_000_100),
    ],
)
def test_whatever_a_server_does_wrong_is_one_error_that_never_shows_the_key(server, status, body):
    url, answers, _ = server
    answers.append((status, {}, body))
    with pytest.raises(AskError) as caught:
        OpenAIEngineer(url, "some-model", key="secret-key")(ASKED)
    assert "secret-key" not in repr(caught.value) + repr(caught.value.__cause__)


@pytest.mark.parametrize("pauses", [[1.5], [0.15] * 12], ids=["silent", "a byte at a time"])
def test_a_server_that_takes_too_long_is_given_up_however_it_does(server, pauses):
    url, answers, _ = server
    answers.append((200, {}, [(pause, b" ") for pause in pauses]))
    began = time.monotonic()
    with pytest.raises(AskError, match="cannot be reached: TimeoutError"):
        OpenAIEngineer(url, "some-model", key="secret-key", timeout=0.5)(ASKED)
    assert time.monotonic() - began < 1.4


def test_a_reply_that_repeats_the_key_is_shown_without_it(server):
    url, answers, _ = server
    answers.append((200, {}, completion("you sent secret-key")))
    assert OpenAIEngineer(url, "some-model", key="secret-key")(ASKED) == "you sent [key]"


@pytest.mark.parametrize("key", ["secret\nkey", "secret-k\u00e9y", "secret\0"])
def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(key):
    with pytest.raises(UnknownEngineerError, match="OPENAI_API_KEY") as caught:
        OpenAIEngineer("http://127.0.0.1:1", "some-model", key=key)
    assert "secret" not in str(caught.value)


def test_the_key_does_not_follow_a_redirect(server):
    url, answers, seen = server
    answers += [(307, {"Location": url + "/elsewhere"}, b""), (200, {}, completion("stolen"))]
    with pytest.raises(AskError, match="307"):
        OpenAIEngineer(url, "some-model", key="secret-key")(ASKED)
    assert len(seen) == 1


def test_a_server_that_is_not_there_is_an_error_of_the_asking(server):
    with pytest.raises(AskError, match="cannot be reached"):
        OpenAIEngineer("http://127.0.0.1:1", "some-model")(ASKED)


def test_an_address_that_is_no_address_is_refused_at_once():
    with pytest.raises(UnknownEngineerError, match="http"):
        OpenAIEngineer("file:///etc/passwd", "some-model")
