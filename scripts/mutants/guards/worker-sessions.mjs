const ENGINE = 'test/engine/worker-sessions.spec.ts';
const HTTP = 'test/api/worker-sessions.spec.ts';

/**
 * Worker sessions: which leases a heartbeat extends, and what is left of a session.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const WORKER_SESSIONS = [
  {
    id: 'heartbeat-within-rights',
    name: 'sessions: a token for some queues extends leases in these only',
    off: 'true',
    spec: HTTP,
    test: 'worker sessions on the native API › extend only leases in the queues of the token, and get not_found for others',
  },
  {
    id: 'session-counts-all-its-jobs',
    name: 'sessions: a session has the jobs of all its parts',
    off: { with: 'leases.length' },
    spec: HTTP,
    test: 'worker sessions on the native API › show jobs_at_hand of the heartbeat, else its number of leases',
  },
  {
    id: 'session-start-event-once',
    name: 'sessions: the start of a session is one event',
    off: { with: '0' },
    spec: ENGINE,
    test: 'worker sessions › have events: started, quieted, stopping, ended, each once, also for repeated requests',
  },
  {
    id: 'session-repeated-request-silent',
    name: 'sessions: a repeated request emits no event',
    off: 'remove',
    spec: ENGINE,
    test: 'worker sessions › have events: started, quieted, stopping, ended, each once, also for repeated requests',
  },
  {
    id: 'ended-session-not-lost',
    name: 'sessions: an ended session is not lost later',
    off: 'remove',
    spec: ENGINE,
    test: 'worker sessions › end when they are deleted, and their jobs stay',
  },
  {
    id: 'heartbeat-keeps-the-session',
    name: 'sessions: a session that sends heartbeats is not lost',
    off: { with: '"NX", $&' },
    spec: ENGINE,
    test: 'worker sessions › have an event when they are lost, and when they return',
  },
  {
    id: 'lost-session-has-a-timer',
    name: 'sessions: a timer finds that a session is lost',
    off: { with: '"W"' },
    spec: ENGINE,
    test: 'worker sessions › have an event when they are lost, and when they return',
  },
  {
    id: 'lost-sessions-in-bounded-steps',
    name: 'sessions: one script loses a bounded number of sessions',
    off: { with: '-1' },
    spec: ENGINE,
    test: 'worker sessions › are lost a bounded number at a time, all of them in the end',
  },
  {
    id: 'forgotten-session-not-lost',
    name: 'sessions: a forgotten session is not lost later',
    off: 'remove',
    spec: ENGINE,
    test: 'worker sessions › are removed after a day without being counted as lost, if their ttr is two days',
  },
  {
    id: 'unstored-start-is-not-counted',
    name: 'sessions: a full Redis counts no start that it did not store',
    off: 'true',
    spec: ENGINE,
    test: 'a worker session in a full Redis › keeps its leases, although nothing of it can be recorded',
  },
  {
    id: 'unknown-session-is-introduced-first',
    name: 'sessions: an unknown session must say what it is before its leases are extended',
    off: 'false',
    spec: HTTP,
    test: 'worker sessions on the native API › get 404 for a heartbeat without info until they have sent their info',
  },
  {
    id: 'full-redis-extends-leases',
    name: 'sessions: a full Redis refuses none of the leases of a heartbeat',
    off: { with: '(function(reply) if type(reply) == "table" then error(reply) end return reply end)($&)' },
    spec: ENGINE,
    test: 'a worker session in a full Redis › keeps its leases, although nothing of it can be recorded',
  },
  {
    id: 'session-lives-as-long-as-its-leases',
    name: 'sessions: a session is lost when its leases end, not before',
    off: { with: 'nowMs > heartbeatAtMs + integerAt(raw, at + 1) / 2' },
    spec: ENGINE,
    test: 'worker sessions › return only their own jobs when they are lost',
  },
  {
    id: 'session-ends-with-worker',
    name: 'sessions: the record is removed with its worker',
    off: 'remove',
    spec: ENGINE,
    test: 'worker sessions › are removed with their worker, a day after their last heartbeat',
  },
  {
    id: 'session-has-redis-ttl',
    name: 'sessions: a record that an older server leaves behind expires',
    off: 'remove',
    spec: ENGINE,
    test: 'worker sessions › are removed with their worker, a day after their last heartbeat',
  },
  {
    id: 'session-delete-complete',
    name: 'sessions: a delete leaves nothing',
    off: 'remove',
    spec: ENGINE,
    test: 'worker sessions › end when they are deleted, and their jobs stay',
  },
  {
    id: 'request-needs-session',
    name: 'sessions: a worker without a session gets no request',
    off: 'remove',
    spec: ENGINE,
    test: 'worker sessions › get quiet and stop in their heartbeats, whatever they report',
  },
  {
    id: 'namespace-with-a-session-stays',
    name: 'sessions: a namespace with a session keeps its marker',
    off: 'false',
    spec: ENGINE,
    test: 'worker sessions › keep their namespace as long as they are known',
  },
  {
    id: 'heartbeat-reaches-the-old-pool',
    name: 'sessions: while a pool moves, leases in the old one are extended too',
    off: 'false',
    spec: 'test/engine/migrating.spec.ts',
    test: 'native calls during a move › the native API while a pool moves › leases the jobs of the old pool first, and settles each job in its pool',
  },
  {
    id: 'heartbeat-hides-other-queues',
    name: 'sessions: a token for some queues learns no state of a job in another one',
    off: 'false',
    spec: HTTP,
    test: "worker sessions on the native API › do not learn the state of a job that moves outside the token's queues",
  },
];
