"""What clients did and saw: one JSON object a line.

Fields of all: `who` (process and thread), `op`, `t0` and `t1` (monotonic ns: before the call, and when its answer was there), `out` ("ok",
"no" = refused, "unknown" = no answer, or an error of the server).

- publish: `id` (null = it was not answered), `n` (counter of the producer), `queue`, `delay_ms`, `tries`, `key`, `parts`, `attempt`
- lease: `queues`, `ttr_ms`, `jobs`: [{`id`, `lease` (null: lmstfy's API), `queue`, `body`, `published_at`}]
- settle: `how` (ack, release, retry, fail), `id`, `lease`, `delay_ms`
- heartbeat: `id`, `lease`, `ttr_ms`
- push: `id`, `body`, `hung`: a receiver of pushes got this request, and answered it ("ok" = 2xx), perhaps too late
- fault: `name`, `effect` (what shows that it took effect; empty = nothing did), `step`: seconds by which the clock of Redis was set,
  `lost_from`: what was answered from then on until the end of the fault may be undone (null = nothing), `keeps_publishes`: but no publish;
  `named`: whether a log names the loss, if one must
- left: `id`, `queue`, `state` at the end of the run, `lease_ends`: monotonic ns, by the clock of Redis at the end of the run (null = no lease)
"""

import json


class Writer:
    def __init__(self, path, who, is_flushed=False):
        self._file = open(path, "a", encoding="utf-8", buffering=1 if is_flushed else 1 << 16)
        self._who = who

    def write(self, op, answer, **fields):
        record = {"who": self._who, "op": op, "t0": answer.began, "t1": answer.ended, "out": answer.outcome, **fields}
        self._file.write(json.dumps(record, separators=(",", ":")) + "\n")

    def note(self, op, **fields):
        self._file.write(json.dumps({"who": self._who, "op": op, **fields}, separators=(",", ":")) + "\n")
        # There are few: a run that breaks off can be judged all the same.
        self._file.flush()

    def close(self):
        self._file.close()


def read(paths):
    """All records, in the order of their beginnings."""
    records = []
    for path in paths:
        with open(path, encoding="utf-8") as file:
            records.extend(json.loads(line) for line in file)
    return sorted(records, key=lambda record: record.get("t0", 0))
