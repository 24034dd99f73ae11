const ENGINE = 'test/engine/engine.spec.ts';
const WAITING = 'test/engine/leasing.spec.ts';
const FAULTS = 'test/engine/faults.spec.ts';
const BATCHES = 'test/engine/batches.spec.ts';
const EXPIRY = 'test/engine/expiry.spec.ts';
const EXPECTED = 'test/engine/expected-jobs.spec.ts';
const LATE = 'test/engine/extended-jobs.spec.ts';
const PROPERTIES = 'test/properties/simple-jobs.spec.ts';

/**
 * Leases: given once, undone when they did not reach the client, and distinguished from stale ones.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const LEASES = [
  {
    id: 'settle-registers-no-namespace',
    name: 'lease operations: a purged namespace stays purged',
    off: { with: '{ 2, now_floor, 0 }' },
    spec: BATCHES,
    test: 'batch ack › many acknowledgements in one call › register no namespace that was purged meanwhile',
  },
  {
    id: 'undo-puts-the-job-back',
    name: 'undo: a job whose lease did not reach the client goes back to its ready list',
    off: 'false',
    spec: ENGINE,
    test: 'the engine › undoes leases to the front, in order, without using a try or lowering the lease number',
  },
  {
    id: 'undo-checks-lease-number',
    name: 'undo: a job that has moved on since the lease is left alone',
    off: 'remove',
    spec: ENGINE,
    test: 'the engine › does not undo the lease of a job that has changed since',
  },
  {
    id: 'undo-after-the-lease-script',
    name: 'undo: leases of a client that leaves while Redis runs its lease script are undone',
    off: 'false',
    spec: WAITING,
    test: 'long polls › a consumer that waits › has its job returned if it disconnects during the lease, with a wait of %i ms',
  },
  {
    id: 'undo-when-no-waiter-is-left',
    name: 'undo: jobs for a waiter that left while it was served are given back',
    off: 'remove',
    spec: WAITING,
    test: 'long polls › a consumer that waits › has its job returned if it disconnects during the lease, with a wait of %i ms',
  },
  {
    id: 'no-lease-for-a-closed-client',
    name: 'leases: nothing is leased for a client that has left before the script is sent',
    off: 'true',
    spec: WAITING,
    test: 'long polls › a consumer that waits › leases nothing if it disconnects before the script is sent, in case it %s',
  },
  {
    id: 'stop-waits-for-leases',
    name: 'stop: the server waits for leases that are under way',
    off: 'false',
    spec: WAITING,
    test: "long polls › a consumer that waits › loses no job that it is given at the moment of the server's stop",
  },
  {
    id: 'failed-write-is-no-answer',
    name: 'undo: leases are undone when their answer could not be written',
    off: 'false',
    spec: 'test/api/native-leases.spec.ts',
    test: 'leases › a native lease, by %s › is undone if the client disconnects just before its answer is written',
  },
  {
    id: 'delivery-undoes-on-close',
    name: 'undo: leases are undone when the connection closes before the response was handed over',
    off: 'remove',
    spec: 'test/api/fast-path.spec.ts',
    test: 'answers of the HTTP server › clients that disconnect before their answer › give back the jobs of a large answer that they did not read, without using a try',
  },
  {
    id: 'delivery-done-when-flushed',
    name: 'undo: a response counts as sent when the system has all of its bytes',
    off: 'remove',
    spec: 'test/api/fast-path.spec.ts',
    test: 'answers of the HTTP server › clients that disconnect before their answer › give back the jobs of a large answer that they did not read, without using a try',
  },
  {
    id: 'delivery-undoes-on-error',
    name: 'undo: leases are undone when the response fails',
    off: 'remove',
    spec: 'test/api/fast-path.spec.ts',
    test: 'frequent HTTP calls › the fast path › releases jobs that it could not write into an answer',
  },
  {
    id: 'lease-once-per-script',
    name: 'leases: a script leases a job once, however many entries it finds',
    off: 'remove',
    spec: PROPERTIES,
    test: 'a job created again under its own id › is leased once although its stale entry has the same id',
  },
  {
    id: 'waiters-register-with-the-lease',
    name: 'leases: the script that finds no job registers the waiter',
    off: { with: "$&.map((item) => [...item.slice(0, 4), '0'])" },
    spec: WAITING,
    test: 'long polls › a consumer that waits › gets a job at once that is published during its first lease call',
  },
  {
    id: 'ack-compares-lease-numbers',
    name: 'acks: an ack must name the present lease',
    off: 'true',
    spec: ENGINE,
    test: 'the engine › D8: refuses a stale owner, whose acknowledgement changes nothing',
  },
  {
    id: 'lease-checks-expiry',
    name: 'leases: a lease checks whether the job has expired',
    off: 'false',
    spec: ENGINE,
    test: 'the engine › D4: does not end a batch at an expired job',
  },
  {
    id: 'ack-checks-expiry',
    name: 'acks: an ack checks whether the job has expired',
    off: 'false',
    spec: EXPIRY,
    test: 'expiry › a job whose ttl has ended › cannot be acknowledged',
  },
  {
    id: 'pump-charges-last-try',
    name: 'leases: an expired lease without tries left kills the job',
    off: 'false',
    spec: ENGINE,
    test: 'the engine › returns a job when its lease expires, and moves it to the dead-letter queue without tries',
  },
  {
    id: 'late-reply-is-undone',
    name: 'undo: leases in a reply that comes after the deadline are undone',
    off: 'remove',
    spec: FAULTS,
    test: 'connections › a pool behind a bad network › undoes the lease in a late reply of a lease call, without using a try',
  },
  {
    id: 'lease-calls-keep-their-order',
    name: 'leases: lease calls of one turn are not merged past a call for the same queue',
    off: 'true',
    spec: BATCHES,
    test: 'batches › calls in one turn of the event loop › get jobs in the order of the calls if their queues overlap',
  },
  {
    id: 'big-lease-calls-run-again',
    name: 'leases: a call that wants more jobs than one reply holds is run again',
    off: 'false',
    spec: BATCHES,
    test: 'batches › calls in one turn of the event loop › use a second script if one answer cannot hold all the jobs that they lease',
  },
  {
    id: 'batch-ack-of-the-last-holder',
    name: 'leases: the last holder of a simple job may ack it in a batch until the next lease',
    off: 'false',
    spec: LATE,
    test: 'extended jobs › the last lease holder of %s job › is accepted for a batch ack after the lease expired',
  },
  {
    id: 'extended-late-holder-settles',
    name: 'leases: the last holder of an extended job may settle it until the next lease',
    off: 'remove',
    spec: LATE,
    test: 'extended jobs › the last lease holder of %s job › is accepted after the lease expired: %s',
  },
  {
    id: 'ack-needs-earlier-lease',
    name: 'leases: a simple job that was never leased has no last holder',
    off: 'remove',
    spec: LATE,
    test: 'extended jobs › a chosen id › is not settled by the lease holder of a former job before its first lease: %s',
  },
  {
    id: 'settle-needs-earlier-lease',
    name: 'leases: an extended job that was never leased has no last holder',
    off: 'remove',
    spec: LATE,
    test: 'extended jobs › a chosen id › is not settled by the lease holder of a former job before its first lease: %s',
  },
  {
    id: 'undo-needs-current-lease',
    name: 'leases: an undo after the lease expired changes nothing',
    off: 'remove',
    spec: LATE,
    test: 'extended jobs › the last lease holder of %s job › is refused after a later lease whose answer was not sent',
  },
  {
    id: 'respawn-raises-the-lease',
    name: 'leases: a respawned simple job has no last holder',
    off: 'remove',
    spec: LATE,
    test: 'extended jobs › the last lease holder of %s job › is refused for the heartbeat of a dead job, and for an ack after the respawn',
  },
  {
    id: 'single-waiter-fetches-at-once',
    name: 'leases: a single waiter fetches right behind the publish of its process',
    off: 'false',
    spec: EXPECTED,
    test: 'a job that a long poll of the same process waits for › reaches the long poll without a wake-up',
  },
  {
    id: 'no-fetch-before-a-job-is-ready',
    name: 'leases: nothing is fetched for a job that is not ready yet',
    off: 'true',
    spec: EXPECTED,
    test: 'a job that a long poll of the same process waits for › is not fetched before it is ready',
  },
  {
    id: 'several-waiters-wait-for-the-wake-up',
    name: 'leases: several waiters share the fetch of the wake-up',
    off: 'false',
    spec: 'src/engine/lease/long-poll-manager.spec.ts',
    test: 'a job that this process publishes › is fetched after the wake-up, in one fetch, if two requests wait',
  },
  {
    id: 'no-prefetch-while-unavailable',
    name: 'leases: no fetch ahead while Redis is unavailable',
    off: 'remove',
    spec: 'src/engine/lease/long-poll-manager.spec.ts',
    test: 'a job that this process publishes › causes no fetch after a failed fetch, until the next wake-up',
  },
  {
    id: 'prefetch-once',
    name: 'leases: a waiter fetches ahead once',
    off: 'remove',
    spec: 'src/engine/lease/long-poll-manager.spec.ts',
    test: 'a job that this process publishes › causes no fetch for a request whose last fetch found nothing, because the queue may be paused',
  },
];
