const ENGINE = 'test/engine/targets.spec.ts';
const FAULTS = 'test/faults/push.spec.ts';
const HTTP = 'test/api/push.spec.ts';
const OF = 'push targets of a namespace';
const BREAKER = 'push targets of a namespace › the breaker';
const PUSH = 'HTTP push › the breaker';
const ORIGINS = 'jobs that are pushed to URLs of several origins';

/**
 * Targets of HTTP push and their circuit breakers: how they are stored and read, and by which clock.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const PUSH_TARGETS = [
  {
    id: 'target-port-is-allowed',
    name: 'push: a target may have a port that no job can be sent to',
    off: { with: 'true' },
    spec: HTTP,
    test: 'HTTP push › push targets › are refused with a port that the server does not push to',
  },
  {
    id: 'target-versions-after-a-purge',
    name: 'push: a namespace that was purged and made anew is read again by older servers',
    off: { with: 'last + 1' },
    spec: ENGINE,
    test: `${OF} › are read as a whole after a purge`,
  },
  {
    id: 'target-changes-since',
    name: 'push: a server reads only what has changed of the targets',
    off: { with: '"-inf"' },
    spec: ENGINE,
    test: `${OF} › are read by their changes since the last read`,
  },
  {
    id: 'unlogged-target-change-reads-all',
    name: 'push: a change by a server that logs none is read',
    off: 'true',
    spec: ENGINE,
    test: `${OF} › are read as a whole after an unlogged change of an earlier version`,
  },
  {
    id: 'unlogged-target-change-ends-log',
    name: 'push: a change by a server that logs none is read after a further change',
    off: 'true',
    spec: ENGINE,
    test: `${OF} › are read as a whole after an unlogged change of an earlier version`,
  },
  {
    id: 'many-target-changes-read-all',
    name: 'push: a server that has missed more than the log keeps reads all targets',
    off: 'false',
    spec: ENGINE,
    test: `${OF} › are read as a whole by a server that missed more than the log keeps`,
  },
  {
    id: 'target-change-compares',
    name: 'push: no change of a target is lost to another one',
    off: 'false',
    spec: ENGINE,
    test: `${OF} › lose none of twelve concurrent changes of a target`,
  },
  {
    id: 'breaker-null-stays-closed',
    name: 'push: a target without a breaker has none',
    off: 'true',
    spec: ENGINE,
    test: `${BREAKER} › stays closed if the target is %s by now`,
  },
  {
    id: 'breaker-of-another-url',
    name: 'push: a failure of an earlier URL opens no breaker',
    off: 'true',
    spec: ENGINE,
    test: `${BREAKER} › stays closed if the target is %s by now`,
  },
  {
    id: 'breaker-open-time',
    name: 'push: a breaker opens for as long as its settings say',
    off: { with: '30000' },
    spec: ENGINE,
    test: `${BREAKER} › opens for longer each time, is tried by one server at a time, and closes, all by the time of Redis`,
  },
  {
    id: 'one-server-probes',
    name: 'push: one server has the right to probe',
    off: 'true',
    spec: ENGINE,
    test: `${BREAKER} › opens for longer each time, is tried by one server at a time, and closes, all by the time of Redis`,
  },
  {
    id: 'breaker-time-too-far-is-over',
    name: 'push: a breaker that is open for longer than it can be is over',
    off: 'false',
    spec: ENGINE,
    test: `${BREAKER} › closes if it is open for too long because the clock was set back`,
  },
  {
    id: 'targets-by-redis-clock',
    name: 'push: signatures and secrets go by the clock of Redis',
    off: { with: 'Date.now()' },
    spec: ENGINE,
    test: `${BREAKER} › opens for longer each time, is tried by one server at a time, and closes, all by the time of Redis`,
  },
  {
    id: 'cut-off-probe-says-nothing',
    name: 'push: a probe that was cut off does not close the breaker',
    off: { with: '!isProbe' },
    spec: FAULTS,
    test: 'HTTP push under faults › stops for a failing target on both servers, then sends one job from one server as a trial',
  },
  {
    id: 'probe-without-record',
    name: 'push: a breaker that cannot be stored stops no delivery',
    off: 'false',
    spec: HTTP,
    test: `${PUSH} › stops no delivery if its state cannot be stored`,
  },
  {
    id: 'breaker-that-ends-closes',
    name: 'push: a breaker that ends closes',
    off: 'remove',
    spec: HTTP,
    test: `${PUSH} › never opens while it is switched off`,
  },
  {
    id: 'url-change-closes-breaker',
    name: 'push: a target with another URL has no open breaker',
    off: 'false',
    spec: HTTP,
    test: `${PUSH} › closes when the target gets another URL, and ignores failures of the old URL`,
  },
  {
    id: 'held-while-origin-is-open',
    name: 'push: a job of an origin whose breaker is open is held back',
    off: { with: 'null' },
    spec: HTTP,
    test: 'HTTP push › a job that names a URL › waits while the breaker of its origin is open, without using a try, until one probe succeeds',
  },
  {
    id: 'push-origin-is-the-key',
    name: 'push: jobs of one origin share a key',
    off: 'remove',
    spec: HTTP,
    test: 'HTTP push › a job that names a URL › counts for max_running_per_key together with the jobs of its origin',
  },
  {
    id: 'one-job-tries-an-origin',
    name: 'push: one job is leased to try an origin, also by several servers at once',
    off: 'true',
    spec: 'test/engine/targets.spec.ts',
    test: 'jobs that are pushed to URLs of several origins › are held while the breaker of their origin is open, until one try succeeds',
  },
  {
    id: 'own-url-open-leases-none',
    name: 'push: jobs that name no URL are held while the breaker of the target is open, where it has origins',
    off: 'remove',
    spec: 'test/api/push.spec.ts',
    test: 'HTTP push › a job that names a URL › is sent while the breaker of the target is open, which holds jobs without a URL',
  },
  {
    id: 'origin-open-leases-none',
    name: 'push: no job is leased for an origin whose breaker is open',
    off: 'false',
    spec: ENGINE,
    test: `${ORIGINS} › are held while the breaker of their origin is open, until one try succeeds`,
  },
  {
    id: 'held-until-origin-works',
    name: 'push: one job is called to try an origin',
    off: { with: '100' },
    spec: ENGINE,
    test: `${ORIGINS} › are held while the breaker of their origin is open, until one try succeeds`,
  },
  {
    id: 'close-that-was-not-stored-is-stored-later',
    name: 'push: a breaker whose end could not be stored is closed later',
    off: { replace: 'const isProbe = isTrial;' },
    spec: HTTP,
    test: `${PUSH} › is closed in the store by a later answer, if the store did not take the first one`,
  },
  {
    id: 'own-ttr-beats-heartbeat-ms',
    name: 'push: a target that acknowledges later has the ttr of the job',
    off: 'false',
    spec: HTTP,
    test: 'HTTP push › a target that acknowledges later › has as long as the ttr_ms of the job says, also in a namespace with shorter heartbeats',
  },
  ...[
    ['repeated-rotation-keeps-the-old-secret', 'a repeated rotation keeps the old secret'],
    ['same-secret-is-no-other', 'the secret that a target has does not end the old one'],
  ].map(([id, what]) => ({
    id: String(id),
    name: `push: ${String(what)}`,
    off: /** @type {const} */ ('true'),
    spec: 'test/api/push.spec.ts',
    test: 'HTTP push › a repeated rotation keeps the secret that was %s',
  })),
];
