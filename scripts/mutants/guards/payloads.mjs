const JSON_FIELDS = 'src/contract/json/json-fields.spec.ts';
const JOBS = 'test/api/native-jobs.spec.ts';
const PUBLISH = 'publish › a native publish, by %s';

const WORKER = 'packages/client/test/worker.spec.ts';
const SCENARIOS = 'test/clients/scenarios.spec.ts';
const EACH_SCENARIO = 'the client libraries › pass the scenario in $language: $name';

/**
 * Payloads and outcomes that one side accepts and another cannot read.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const PAYLOADS = [
  {
    id: 'json-depth-ends-the-scan',
    name: 'JSON: a body is read up to the first value that is too deep',
    off: 'false',
    spec: JSON_FIELDS,
    test: 'JsonScanner › stops at the first value deeper than its maximum depth',
  },
  {
    id: 'json-values-end-the-scan',
    name: 'JSON: a body is read up to the first value that is one too many',
    off: 'false',
    spec: JSON_FIELDS,
    test: 'JsonScanner › stops at the first value beyond its maximum number of values',
  },
  {
    id: 'fault-search-is-bounded',
    name: 'JSON: a long body is not searched for the place of its mistake',
    off: 'false',
    spec: JOBS,
    test: `${PUBLISH} › does not report where a body of more than 256 KiB is not JSON`,
  },
  {
    id: 'deep-data-in-base64',
    name: 'JSON: data that is deeper than the limit is given in base64',
    off: 'true',
    spec: JOBS,
    test: `${PUBLISH} › shows data deeper than 64 levels from lmstfy’s API in base64`,
  },
  {
    id: 'one-host',
    name: 'HTTP: a request with two Host headers is refused',
    off: 'false',
    spec: 'test/api/fast-path.spec.ts',
    test: 'frequent HTTP calls › the fast path › answers a request with two Host headers with 400 and closes its connection, also where the router answers: %s %s',
  },
  {
    id: 'ack-link-names-a-lease',
    name: 'push: a signed URL that names no lease is refused',
    off: 'true',
    spec: 'test/api/push.spec.ts',
    test: 'HTTP push › a target that acknowledges later › gets 400 for a signed URL with malformed contents',
  },
  {
    id: 'hidden-characters-escaped',
    name: 'command line: characters without width are escaped',
    off: { with: '/[\\p{Cc}]/gu' },
    spec: 'packages/cli/src/print.spec.ts',
    test: 'the output of the command line › shows characters without width in escaped form',
  },
  {
    id: 'answer-size-is-bounded',
    name: 'client: an answer has a largest size',
    off: 'false',
    spec: 'packages/client/test/retries.spec.ts',
    test: 'the maxAnswerBytes of a client › ends a call with a longer answer by an error, without a second request: %s',
  },
  {
    id: 'unreadable-job-fails-alone',
    name: 'client: a job that cannot be read fails alone',
    off: 'false',
    spec: WORKER,
    test: 'outcomes of handlers of a client worker › fail a job whose data cannot be read, and run the other jobs of the same lease answer',
  },
  {
    id: 'refused-ending-is-sent-again',
    name: 'client: an ending that is refused is sent again, without what may be the reason',
    off: 'true',
    spec: WORKER,
    test: 'outcomes of handlers of a client worker › settle a job by a second call without the part that the server refused: %s',
  },
  {
    id: 'refused-result-fails-its-job',
    name: 'client: a job whose result is refused fails',
    off: 'true',
    spec: WORKER,
    test: 'outcomes of handlers of a client worker › fail a job whose result cannot be stored, and acknowledge other jobs of its batch',
  },
  {
    id: 'delays-are-whole',
    name: 'client: delays of outcomes are rounded and clamped',
    off: { with: 'delayMs' },
    spec: WORKER,
    test: 'outcomes of handlers of a client worker › settle the job of a handler that throws or returns %s',
  },
  {
    id: 'next-queue-has-a-legal-name',
    name: 'in process: a job does not go to a queue that cannot be named',
    off: 'false',
    spec: 'test/worker/contract.spec.ts',
    test: 'a Pumphouse without a server › fails a job whose handler returns an invalid next queue or dependency',
  },
  {
    id: 'base64-of-any-length',
    name: 'JSON: base64 of any length is checked',
    off: { with: 'BASE64' },
    spec: JSON_FIELDS,
    test: 'base64 of 8 MiB in a body › is refused as too long or as invalid base64: row %#',
  },
  ...[
    [
      'python-reads-jobs-alone',
      'python: one payload that cannot be read stops no other',
      { replace: 'jobs.extend([])' },
    ],
    ['python-unreadable-job-fails-alone', 'python: a job that cannot be read fails alone', 'false'],
    ['python-refused-ending-is-sent-again', 'python: an ending that is refused is sent again', 'false'],
    ['go-reads-jobs-alone', 'go: one payload that cannot be read stops no other', 'remove'],
    ['go-refused-ending-is-sent-again', 'go: an ending that is refused is sent again', 'false'],
    [
      'go-refused-ack-is-alone',
      'go: an ack that is refused fails no other of its batch',
      { with: '$& && false' },
    ],
    [
      'go-handlers-are-isolated',
      'go: a handler may panic, and end its goroutine',
      { replace: 'code()\n\tclose(done)' },
    ],
    ['returned-outcome-counts', 'workers: an outcome that is returned settles no job as done', 'false'],
    ['python-returned-outcome-counts', 'python: an outcome that is returned fails no job for good', 'false'],
    ['go-returned-outcome-counts', 'go: an outcome by value settles no job as done', 'remove'],
    ['client-waits-for-room', 'client: a job waits for room in Redis for its outcome', 'remove'],
    ['python-waits-for-room', 'python: a job waits for room in Redis for its outcome', 'true'],
    ['go-waits-for-room', 'go: a job waits for room in Redis for its outcome', 'false'],
    [
      'full-next-queue-is-tried-again',
      'client: a full next queue makes the job tried again',
      { with: 'false' },
    ],
    [
      'python-full-next-queue-is-tried-again',
      'python: a full next queue makes the job tried again',
      { replace: 'what = "fail"' },
    ],
    [
      'go-full-next-queue-is-tried-again',
      'go: a full next queue makes the job tried again',
      { replace: 'w.report(h, "fail", members{"group": status})' },
    ],
    ['python-leases-without-types', 'python: a server that cannot lease by type leases all jobs', 'false'],
    ['go-leases-without-types', 'go: a server that cannot lease by type leases all jobs', 'false'],
    ['client-stops-in-a-full-store', 'client: a stop waits for no room in Redis', 'remove'],
    ['python-stops-in-a-full-store', 'python: a stop waits for no room in Redis', 'remove'],
    ['go-stops-in-a-full-store', 'go: a stop waits for no room in Redis', 'remove'],
    ['client-stop-ends', 'client: a stop ends while outcomes are refused for the time being', 'false'],
    [
      'python-stop-ends',
      'python: a stop ends while outcomes are refused for the time being',
      { replace: 'is_left = False' },
    ],
    ['go-stop-ends', 'go: a stop ends while outcomes are refused for the time being', 'false'],
    ['go-stop-sees-the-whole-stack', 'go: a handler may call stop at any depth', 'remove'],
    [
      'python-members-may-raise',
      'python: members of an exception may raise',
      { replace: 'group, message = error.group, text_of(error)' },
    ],
    [
      'python-stop-does-not-wait-for-itself',
      'python: handlers of two workers may stop both',
      { with: 'self in own' },
    ],
    ['stop-sees-workers-that-wait-for-each-other', 'workers: handlers of two workers may stop both', 'false'],
    ['only-refusals-fail-jobs', 'client: only a refusal of the server fails a job that has run', 'true'],
    [
      'python-only-refusals-fail-jobs',
      'python: only a refusal of the server fails a job that has run',
      { replace: 'return error.status not in (0, 401) and not (may_pass(error) or is_over)' },
    ],
    [
      'go-only-refusals-fail-jobs',
      'go: only a refusal of the server fails a job that has run',
      { replace: '_ = isOfServer\n\treturn !mayPass(refused) && !isOver && refused.Status != 401' },
    ],
    [
      'python-heartbeats-go-on',
      'python: an answer that cannot be read ends no heartbeats',
      { replace: 'raise' },
    ],
  ].map(([id, name, off]) => ({ id, name, off, spec: SCENARIOS, test: EACH_SCENARIO })),
  ...[
    [
      'python-drops-unasked-answers',
      'python: an answer that no request has asked for is not taken for that of the next one',
      { replace: 'is_kept = not answer.will_close' },
    ],
    [
      'python-aio-drops-unasked-answers',
      'python, asyncio: an answer that no request has asked for is not taken for that of the next one',
      'false',
    ],
    [
      'python-failure-says-what-first',
      'python: the first line of a failure says what it is',
      { replace: 'return trace' },
    ],
    ['python-texts-are-plain', 'python: methods of a text may raise', { replace: 'return str(value)' }],
    [
      'python-aio-cancelled-task-is-no-failure',
      'python, asyncio: a job whose task ends with the event loop uses no try',
      'false',
    ],
    ['python-handler-begins-its-run', 'python: the server limits the run of a handler', 'false'],
    ['python-run-end-cancels', 'python: a handler is told of the end of its run', 'false'],
    [
      'python-watches-beside-heartbeats',
      'python: the ends of runs are seen while a heartbeat is on its way',
      { replace: '_ = watcher' },
    ],
    ['python-forks-have-their-own-session', 'python: each fork of a worker has its own session', 'false'],
    [
      'python-no-handler-after-a-standstill',
      'python: no handler begins under a lost lease after the process stood still',
      'false',
    ],
    ['python-batches-are-bounded', 'python: a request has up to 100 acks', 'false'],
    [
      'python-drops-dead-connections',
      'python: a timeout drops the other connections of a host that may be gone',
      'false',
    ],
    [
      'python-aio-drops-dead-connections',
      'python, asyncio: a timeout drops the other connections of a host that may be gone',
      'false',
    ],
  ].map(([id, name, off]) => ({
    ...{ id, name, off, spec: 'test/clients/python.spec.ts' },
    test: 'the Python client › passes its own tests against a server: %s',
  })),
  ...[
    ['go-handler-begins-its-run', 'go: the server limits the run of a handler', 'true'],
    ['go-run-end-cancels', 'go: a handler is told of the end of its run', 'false'],
    [
      'go-watches-beside-heartbeats',
      'go: the ends of runs are seen while a heartbeat is on its way',
      { replace: 'beating <- w.heartbeat()' },
    ],
    [
      'go-drops-dead-connections',
      'go: a timeout drops the other connections of a host that may be gone',
      'false',
    ],
    [
      'go-no-handler-after-a-standstill',
      'go: no handler begins under a lost lease after the process stood still',
      'false',
    ],
    ['go-batches-are-bounded', 'go: a request has up to 100 acks', 'false'],
  ].map(([id, name, off]) => ({
    ...{ id, name, off, spec: 'test/clients/go.spec.ts' },
    test: 'the Go client › passes its own tests against a server',
  })),
  {
    id: 'deep-json-is-written',
    name: 'answers: JSON of any depth is written',
    off: 'remove',
    spec: 'test/api/deep-json.spec.ts',
    test: 'JSON of 10,000 levels, where the server allows it › is stored and shown as the progress and the result of a job',
  },
];
