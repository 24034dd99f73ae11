const LISTS = 'test/redis/full-lists.spec.ts';
const DEAD = 'test/redis/full-dead.spec.ts';
const INDEXES = 'test/redis/full-indexes.spec.ts';
const E2E = 'test/e2e/lists.spec.ts';

/**
 * Lists, what marks jobs, workers, and the dead letter of the native API.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const LIST_GUARDS = [
  {
    name: 'list: a failure group has dead jobs only',
    file: 'lua/lib/full/tags.lua',
    from: 'job.state == DEAD and is.fgroup',
    to: 'is.fgroup',
    spec: INDEXES,
    test: 'keeps every index true',
  },
  {
    name: 'list: a job that is gone is in no index',
    file: 'lua/lib/full/tags.lua',
    from: 'is_rich(job) and not job.is_gone and job or NOTHING',
    to: 'is_rich(job) and job or NOTHING',
    spec: INDEXES,
    test: 'keeps every index true',
  },
  {
    name: 'list: a worker is left by the job that goes elsewhere',
    file: 'lua/lib/full/workers.lua',
    from: 'was.state ~= job.state and not job.is_stalled',
    to: 'false',
    spec: INDEXES,
    test: 'keeps every index true',
  },
  {
    name: 'list: a place among equal scores is found by its id',
    file: 'lua/lib/full/walk.lua',
    from: 'local high = id == "" and low or',
    to: 'local high = id ~= "" and low or',
    spec: LISTS,
    test: 'lose nothing and repeat nothing',
  },
  {
    name: 'list: a place in a line is looked for where it moved to',
    file: 'lua/lib/full/walk_line.lua',
    from: 'if string.sub(entries[i], 1, -2) == id then',
    to: 'if false then',
    spec: LISTS,
    test: 'go on in a line whose head was taken',
  },
  {
    name: 'list: a name cannot be a key of ours',
    file: 'lua/lib/full/tend.lua',
    from: 'space_key(kind .. ":" .. name)',
    to: 'space_key(kind .. name)',
    spec: LISTS,
    test: 'are named like keys of ours',
  },
  {
    name: 'list: a tag counts once for a job',
    file: 'lua/lib/full/mark.lua',
    from: 'if is_wanted and not place[tag] then',
    to: 'if is_wanted then',
    spec: LISTS,
    test: 'counted exactly',
  },
  {
    name: 'list: a job that is scheduled far ahead stays there when it is marked',
    file: 'lua/lib/full/rich.lua',
    from: '  if at then\n    leave(job)',
    to: '  if kind then\n    leave(job)',
    spec: LISTS,
    test: 'on one that is far ahead',
  },
  {
    name: 'list: who asks a full store is not turned away for being noted',
    file: 'lua/lib/full/workers.lua',
    from: 'redis.pcall("ZADD", seen[worker]',
    to: 'redis.call("ZADD", seen[worker]',
    spec: LISTS,
    test: 'may ask a full store',
  },
  {
    name: 'list: a job that is tracked no more leaves no trace',
    file: 'lua/scripts/full_mark.lua',
    from: 'if verb == "untrack" then',
    to: 'if verb == "never" then',
    spec: LISTS,
    test: 'may be untracked when they are gone',
  },
  {
    name: 'list: a token for some queues sees lists of these only',
    file: 'src/domain/rights.ts',
    from: 'if (queue === undefined) checkAllQueues(rights);',
    to: 'if (queue === undefined) void rights;',
    spec: E2E,
    test: 'are closed to tokens for some queues',
  },
  {
    name: 'dead letter: nothing is left of the failure of a job that is back',
    file: 'lua/lib/full/raise.lua',
    from: '{ "fgroup", "fmessage",',
    to: '{ "fmessage",',
    spec: DEAD,
    test: 'its failure is gone',
  },
  {
    name: 'dead letter: an owner from before the death has lost the lease',
    file: 'lua/lib/full/raise.lua',
    from: 'job.lease + 1, asked',
    to: 'job.lease, asked',
    spec: DEAD,
    test: 'loses the lease of an owner',
  },
  {
    name: 'dead letter: an operation does not meet those again that it brought back',
    file: 'src/engine/full/dead-jobs.ts',
    from: 'filter: { ...filter, toMs: begun.toMs }',
    to: 'filter',
    spec: DEAD,
    test: 'leaves alone what dies meanwhile',
  },
  {
    name: 'dead letter: only dead jobs are brought back or deleted',
    file: 'lua/scripts/full_dead.lua',
    from: 'if job and job.state == DEAD and matches',
    to: 'if job and matches',
    spec: DEAD,
    test: 'on none that is not dead',
  },
  {
    name: 'dead letter: a dry run changes nothing',
    file: 'src/deadletter/dead-jobs.service.ts',
    from: 'const { dead } = this.lane(caller);\n    if (isDry) return this.count(caller, request);\n    if (ids === null) return dead.delete',
    to: 'const { dead } = this.lane(caller);\n    if (ids === null) return dead.delete',
    spec: E2E,
    test: 'is listed, searched, and counted',
  },
  {
    name: 'dead letter: a token must be one for the queue that jobs move to',
    file: 'src/deadletter/dead-jobs.service.ts',
    from: 'if (options.queue !== undefined) checkQueue(caller.rights, options.queue);',
    to: '',
    spec: E2E,
    test: 'are closed to tokens for some queues',
  },
];
