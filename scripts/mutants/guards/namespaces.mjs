const STATISTICS = 'test/engine/statistics.spec.ts';
const PURGE = 'test/engine/changes.spec.ts';

/**
 * What belongs to a namespace as a whole: its statistics, its settings, its end.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const NAMESPACES = [
  {
    name: 'a batch of statistics that comes again is counted once',
    file: 'lua/commands/maintenance/add_statistics.lua',
    from: 'tonumber(redis.call("HGET", key, mark) or 0) >= sequence',
    to: 'false',
    spec: STATISTICS,
    test: 'count a batch once',
  },
  {
    name: 'the last bin of a histogram takes all that is longer',
    file: 'src/engine/stats/bins.ts',
    from: 'Math.min(Math.trunc(ms / DAY_MS), WEEK_DAYS)',
    to: 'Math.trunc(ms / DAY_MS)',
    spec: STATISTICS,
    test: 'drop nothing at the top',
  },
  {
    name: 'a run is not counted for a lease that had expired',
    file: 'src/engine/settle/lease-durations.ts',
    from: 'nowMs > (this.times[3 * place + 1] ?? 0) ? -1 :',
    to: '',
    spec: STATISTICS,
    test: 'do not take for a run',
  },
  {
    name: 'a day of statistics has no more queues than it may',
    file: 'lua/commands/maintenance/add_statistics.lua',
    from: 'if not known and queue ~= OTHERS and room <= 0 then',
    to: 'if false then',
    spec: STATISTICS,
    test: 'of queues beyond the bound',
  },
  {
    name: 'which queues have no numbers of their own is found out anew',
    file: 'src/engine/stats/statistics.ts',
    from: 'if (++this.flushes % RELEARN_EVERY === 0) this.others.clear();',
    to: '',
    spec: STATISTICS,
    test: 'once the store has said so',
  },
  {
    name: 'a queue that has no numbers of its own may have some on the next day',
    file: 'src/engine/stats/other-queues.ts',
    from: 'day === this.day && ',
    to: '',
    spec: STATISTICS,
    test: 'once the store has said so',
  },
  {
    name: 'a day of statistics ends when its history is over',
    file: 'lua/commands/maintenance/add_statistics.lua',
    from: 'redis.call("PEXPIREAT", key, text_of((day + 1 + days) * DAY_MS))',
    to: '',
    spec: STATISTICS,
    test: 'each until its history is over',
  },
  {
    name: 'settings are remembered for a second and no longer',
    file: 'src/engine/queues/settings.ts',
    from: 'if (known && performance.now() - known.atMs < BELIEVED_MS)',
    to: 'if (known)',
    spec: 'test/engine/quotas.spec.ts',
    test: 'within a second on others',
  },
  {
    name: 'a queue with new jobs is not forgotten by a purge',
    file: 'lua/commands/maintenance/purge_namespace.lua',
    from: 'redis.call("EXISTS", queues) == 1 or',
    to: '',
    spec: PURGE,
    test: 'published meanwhile in good order',
  },
  {
    name: 'a namespace that has begun anew is left alone by the end of a purge',
    file: 'lua/commands/maintenance/purge_namespace.lua',
    from: 'redis.call("EXISTS", queues) == 1 or is_marker == 0 and redis.call("EXISTS", meta) == 1',
    to: 'is_marker == 1 and redis.call("EXISTS", queues) == 1',
    spec: PURGE,
    test: 'has begun anew',
  },
  {
    name: 'a purge finds what no index leads to',
    file: 'src/engine/maintenance/purge.ts',
    from: 'this.pool.scan(this.pool.keys.allOf(namespace), PAGE)',
    to: '[] as Buffer[][]',
    spec: PURGE,
    test: 'leaves no key of it',
  },
  {
    name: 'statistics: a death by a failed dependency is a failure',
    file: 'lua/commands/extended/run_timers.lua',
    from: 'if job.has_failed_by_dependency then',
    to: 'if false then',
    spec: STATISTICS,
    test: 'count a death by a failed dependency as a failure',
  },
  {
    name: 'statistics: the lease of a job that is being cancelled is not retried',
    file: 'lua/modules/timers/jobs.lua',
    from: 'if not job.x.cancel then',
    to: 'if true then',
    spec: STATISTICS,
    test: 'do not count as a retry',
  },
  {
    name: 'a namespace that is forgotten leaves no times of its jobs',
    file: 'lua/commands/maintenance/unregister.lua',
    from: '"due", "expiries", "expiring", "keeping", "ended", ',
    to: '',
    spec: 'test/engine/expiry.spec.ts',
    test: 'leaves nothing of a namespace when its jobs went before their time',
  },
];
