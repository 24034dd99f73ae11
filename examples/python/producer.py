"""Publishes jobs: PUMPHOUSE_TOKEN=… python producer.py"""

import os

from pumphouse import NewJob, Pumphouse, PumphouseError

url = os.environ.get("PUMPHOUSE_URL", "http://127.0.0.1:7777")
client = Pumphouse(url, os.environ.get("PUMPHOUSE_NAMESPACE", "demo"), os.environ["PUMPHOUSE_TOKEN"])


def resize(file: str, width: int = 640) -> NewJob:
    return NewJob("images", {"file": file, "width": width}, type="resize", tries=3)


# One job, and its result.
ended = client.publish_and_wait(resize("cat.png", 320), wait_ms=20_000)
print(f"done: {ended.result['file']}" if ended.state == "done" else f"not done: {ended.state}")

# Many jobs, all or none.
print(f"published: {len(client.publish_many([resize('dog.png'), resize('owl.gif')]))}")

# The server checks options, and says which one is wrong.
try:
    client.publish(NewJob("images", priority=200))
except PumphouseError as error:
    print(f"refused: {error.code} {error.fields[0]['field']}")
