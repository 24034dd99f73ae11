const WORKER = 'packages/client/test/worker.spec.ts';
const NO_HANDLER = 'test/engine/no-handler.spec.ts';

/**
 * What keeps workers from starving, waiting for themselves or leaking into each other.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const WORKER_RUNTIME = [
  {
    id: 'unhandled-keeps-place',
    name: 'workers: a job without a handler keeps its place three times only',
    off: 'true',
    spec: NO_HANDLER,
    test: 'a job released by workers without a handler › keeps its place three times, then joins the end of its queue',
  },
  {
    id: 'handler-resets-unhandled',
    name: 'workers: a handler that begins ends the count of releases without a handler',
    off: 'remove',
    spec: NO_HANDLER,
    test: 'a job released by workers without a handler › has its releases counted from zero after %s, which shows that a handler started',
  },
  {
    id: 'stop-in-handler-returns',
    name: 'workers: stop does not wait for the handler that calls it',
    off: 'true',
    spec: WORKER,
    test: 'stop() of a client worker › may be awaited in a handler of the worker, and the job of that handler is done',
  },
  {
    id: 'empty-answers-pause',
    name: 'workers: a request that does not wait is not repeated at once',
    off: 'false',
    spec: WORKER,
    test: 'a worker of the client › pauses longer after each empty answer with waitMs 0',
  },
  {
    id: 'client-timers-are-capped',
    name: 'workers: a long wait does not end at once',
    off: { with: 'ms' },
    spec: WORKER,
    test: 'a worker of the client › accepts infinite waits and time limits, also those longer than the longest timer of Node.js',
  },
  {
    id: 'handlers-share-no-context',
    name: 'workers: a handler does not see the async context of another one',
    off: 'true',
    spec: WORKER,
    test: 'the context of a handler of a client worker › has the AsyncLocalStorage value of run(), not a value that an earlier handler set',
  },
  {
    id: 'ended-session-ends-waits',
    name: 'workers: the end of a session ends its lease requests on all servers',
    off: 'remove',
    spec: 'test/api/worker-sessions.spec.ts',
    test: 'worker sessions on the native API › a worker session with waiting lease requests › ends its lease requests on all servers, by %s, and leases no later job',
  },
  {
    id: 'stop-ends-waits',
    name: 'workers: stop ends the lease request by a call, which passes a proxy',
    off: { with: 'Promise.resolve()' },
    spec: 'test/clients/proxies.spec.ts',
    test: 'a worker behind the proxy $name, with two servers › passes the scenario $name',
  },
  {
    id: 'begin-under-a-lease-that-is-there',
    name: 'worker: a handler does not begin when its lease may have ended while its begin was recorded',
    off: 'false',
    spec: 'packages/client/test/worker.spec.ts',
    test: 'heartbeats of a client worker › prevent a handler from beginning if they have no answer and its lease may have ended, and its job is released',
  },
  {
    id: 'handler-uses-try',
    name: 'workers: in process, a handler that begins uses the try of its job',
    off: 'remove',
    spec: 'test/worker/killed.spec.ts',
    test: "a process killed by a handler › uses the try of the handler's job, and not the try of a leased job whose handler has not started",
  },
  {
    id: 'signal-ends-start',
    name: 'start: a signal ends a start that waits for Redis',
    off: { with: 'started' },
    spec: 'src/app/start-unless-ended.spec.ts',
    test: 'the start of a server › is abandoned after SIGTERM if it does not end',
  },
  {
    id: 'signal-stops-loading-redis',
    name: 'start: a signal stops an embedded Redis that still loads its data',
    off: { replace: 'if (false) await redis.stop();' },
    spec: 'test/processes/embedded.spec.ts',
    test: 'the embedded Redis › ends while it loads its data, if a signal ends the start',
  },
];
