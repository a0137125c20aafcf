from fake_steps.common import begin, config, random_of, write_json

job = begin()
write_json(job["out"], config(random_of(job)))
