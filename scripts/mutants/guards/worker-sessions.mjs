const ENGINE = 'test/engine/worker-sessions.spec.ts';
const HTTP = 'test/api/worker-sessions.spec.ts';

/**
 * Worker sessions: which leases a heartbeat extends, and what is left of a session.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const WORKER_SESSIONS = [
  {
    name: 'sessions: a token for some queues extends leases in these only',
    file: 'src/workers/workers.service.ts',
    from: 'leases.filter((one) => visible.has(one.id))',
    to: 'leases.filter((one) => visible.has(one.id) || visible.size > 0)',
    spec: HTTP,
    test: 'of a token for some queues extend leases in these',
  },
  {
    name: 'sessions: the jobs of one are all of its jobs, not those of a part',
    file: 'src/engine/queues/workers.ts',
    from: 'jobs: jobsAtHand }',
    to: 'jobs: leases.length }',
    spec: HTTP,
    test: 'have as many jobs as they say',
  },
  {
    name: 'sessions: leases are extended while the pool moves',
    file: 'src/workers/workers.service.ts',
    from: 'this.engines.extendedIfNotMoving(pool)',
    to: 'this.engines.extendedOf(pool)',
    spec: HTTP,
    test: 'extend leases while their pool moves',
  },
  {
    name: 'sessions: an unknown one is asked what it is before its leases are extended',
    file: 'lua/commands/extended/record_session.lua',
    from: 'if not x[1] and info == "" then',
    to: 'if not x[1] and info == "-" then',
    spec: HTTP,
    test: 'are asked for what the server does not know',
  },
  {
    name: 'sessions: a full store refuses none of their leases',
    file: 'lua/commands/extended/record_session.lua',
    from: 'redis.pcall("HSET", session, "at"',
    to: 'redis.call("HSET", session, "at"',
    spec: ENGINE,
    test: 'keeps its leases, although nothing',
  },
  {
    name: 'sessions: one is lost when its leases end, not before',
    file: 'src/engine/queues/workers.ts',
    from: 'nowMs >= heartbeatAtMs + integerAt(raw, at + 1)',
    to: 'nowMs > heartbeatAtMs + integerAt(raw, at + 1) / 2',
    spec: ENGINE,
    test: 'give back their own jobs when they fall silent',
  },
  {
    name: 'sessions: one goes with its worker',
    file: 'lua/modules/timers/retention.lua',
    from: '86400000), what, session_key)',
    to: '86400000), what)',
    spec: ENGINE,
    test: 'are forgotten with their worker',
  },
  {
    name: 'sessions: what an older server leaves of one goes by itself',
    file: 'lua/commands/extended/record_session.lua',
    from: 'redis.pcall("PEXPIRE", session, text_of(age_ms + ttr_ms))',
    to: '',
    spec: ENGINE,
    test: 'are forgotten with their worker',
  },
  {
    name: 'sessions: one that is deleted leaves nothing',
    file: 'lua/commands/extended/workers.lua',
    from: 'redis.call("UNLINK", leases, session)',
    to: 'redis.call("UNLINK", leases)',
    spec: ENGINE,
    test: 'end when they are deleted',
  },
  {
    name: 'sessions: a worker without one is asked for nothing',
    file: 'lua/commands/extended/workers.lua',
    from: ' and redis.call("EXISTS", session) == 1 then',
    to: ' then',
    spec: ENGINE,
    test: 'learn that they are to be quiet or to stop',
  },
  {
    name: 'sessions: a namespace with one keeps its marker',
    file: 'lua/commands/maintenance/unregister.lua',
    from: 'redis.call("EXISTS", session_key(worker)) == 1',
    to: 'redis.call("EXISTS", session_key(worker)) == 2',
    spec: ENGINE,
    test: 'keep their namespace as long as they are known',
  },
  {
    name: 'sessions: while a pool moves, leases in the old one are extended too',
    file: 'src/engine/migration/migrating-native.ts',
    from: "({ status }) => status === 'not_found',",
    to: "({ status }) => status === 'extended' && false,",
    spec: 'test/engine/migrating.spec.ts',
    test: 'hears what their owners say where each is',
  },
];
