"""The sampler of served models, against a server of our own."""

import http.server
import json
import threading

import pytest

from policy import endpoint
from policy.endpoint import EndpointSampler
from policy.errors import PolicyError

KEY = "sk-very-secret"


@pytest.fixture
def server(monkeypatch):
    """Answers each prompt with its own words, in upper case; `asked` are the bodies, `fault` a status instead."""
    monkeypatch.setattr(endpoint, "_RETRIES", 0)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            asked.append({**body, "path": self.path, "key": self.headers.get("Authorization")})
            prompt = body["messages"][0]["content"]
            cut = len(prompt) > body["max_tokens"]
            choice = {"index": 0, "finish_reason": "length" if cut else "stop"}
            message = {"role": "assistant", "content": prompt.upper() if prompt != "silent" else None}
            answer = {"id": "1", "object": "chat.completion", "created": 0, "model": body["model"]}
            answer["choices"] = [{**choice, "message": message}] if prompt != "nothing" else []
            answer["usage"] = {"prompt_tokens": 1, "completion_tokens": len(prompt), "total_tokens": 1 + len(prompt)}
            text = json.dumps(answer).encode()
            self.send_response(fault[0] if fault else 200)
            if fault and fault[0] == 302:
                self.send_header("Location", "http://elsewhere.example/")
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        def log_message(self, *_):
            pass

    asked, fault = [], []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        sampler = EndpointSampler(f"http://127.0.0.1:{running.server_port}/v1", "a-model", key=KEY)
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


def test_an_answer_without_a_choice_is_no_answer(server):
    with pytest.raises(PolicyError, match="holds no choice"):
        generate(server[0], ["nothing"])


def test_a_server_that_is_not_there_is_one_line(monkeypatch):
    monkeypatch.setattr(endpoint, "_RETRIES", 0)
    with pytest.raises(PolicyError, match="it cannot be reached"):
        generate(EndpointSampler("http://127.0.0.1:9/v1", "a-model"), ["x"])
    with pytest.raises(PolicyError, match="must begin with http"):
        EndpointSampler("example.com/v1", "a-model")
