"""The step `train_stage` with answers that depend on the board and the place in the group alone, in any process.

What is sampled differs with the number of processes, for each draws for itself; everything after it must not.
"""

import json
import sys
from pathlib import Path

import jaxenv
from experiments.steps import train_stage
from policy.prompts import canonical_answer, render
from policy.samplers import load_model
from policy.trainer import BoardTrainer

KINDS = 4


def main():
    job = json.loads(Path(sys.argv[1]).read_text())
    boards = jaxenv.Dataset.load(job["data"])
    _, tokenizer = load_model(job["model"])
    prompts = [
        tokenizer.apply_chat_template([{"role": "user", "content": text}], tokenize=False, add_generation_prompt=True)
        for text in render(boards.instances, job["style"])
    ]
    ids = tokenizer(prompts, add_special_tokens=False)["input_ids"]
    plans = canonical_answer(boards.solutions.plans, boards.instances, job["style"])
    answers = tokenizer(plans, add_special_tokens=False)["input_ids"]
    best = {tuple(prompt): answer for prompt, answer in zip(ids, answers, strict=True)}
    end = tokenizer.eos_token_id

    def answer(prompt, place):
        whole = best[tuple(prompt)]
        # Right, cut off, cut short, and right for another board.
        return [[*whole, end], whole, [*whole[:1], end], [*answers[(sum(prompt) + place) % len(answers)], end]][
            (place + sum(prompt)) % KINDS
        ]

    def fixed(self, prompt_ids, images, fields, num_generations, *rest, **more):
        begin = self.accelerator.process_index * len(prompt_ids)
        group = self.num_generations
        return [answer(prompt, (begin + row) % group) for row, prompt in enumerate(prompt_ids)], None

    BoardTrainer._generate_single_turn = fixed
    train_stage.main()


if __name__ == "__main__":
    main()
