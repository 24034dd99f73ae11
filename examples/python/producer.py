"""Publishes jobs. PUMPHOUSE_URL, PUMPHOUSE_NAMESPACE and PUMPHOUSE_TOKEN say where."""

from pumphouse import NewJob, Pumphouse, PumphouseError, RetryPolicy, UniqueKey

client = Pumphouse()


def resize(file: str, width: int = 640) -> NewJob:
    # Another try after 1 s and 2 s. While a job of this file waits or runs, no second one is stored.
    retry = RetryPolicy("exponential", delay_ms=1_000)
    unique = UniqueKey(f"resize-{file}-{width}")
    return NewJob("images", {"file": file, "width": width}, type="resize", tries=3, retry=retry, unique=unique)


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
