const ENGINE = 'test/engine/engine.spec.ts';
const BATCHES = 'test/engine/batches.spec.ts';
const EXPIRY = 'test/engine/expiry.spec.ts';
const STALE = 'test/engine/reused-ids.spec.ts';
const PROPERTIES = 'test/engine/properties.spec.ts';
const READS = 'test/engine/faults.spec.ts';
const REUSED = 'test/engine/reused-ids.spec.ts';
const OLDER = 'test/engine/data-format.spec.ts';

/**
 * Ready lists and their entries: what counts in them, what is gone, and when they are read.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const READY_LISTS = [
  {
    name: 'entry number: an old entry of the ready list is stale for a peek',
    file: 'lua/modules/core/header.lua',
    from: ' and job.entry == string.byte(entry, -1)',
    to: '',
    spec: PROPERTIES,
    test: 'stands where its new life begins',
  },
  {
    name: 'entry number: an old entry of the ready list is stale for a lease',
    file: 'lua/commands/simple/lease.lua',
    from: ' and kind.entry == byte(window[i], -1)',
    to: '',
    spec: PROPERTIES,
    test: 'stands where its new life begins',
  },
  {
    name: 'queue number: an entry in another queue is stale for a lease',
    file: 'lua/commands/simple/lease.lua',
    from: 'kind.number == number and ',
    to: 'kind.number and ',
    spec: STALE,
    test: 'is not given out',
  },
  {
    name: 'queue number: an entry in another queue is stale for a peek',
    file: 'lua/modules/core/header.lua',
    from: ' and job.queue == number',
    to: '',
    spec: STALE,
    test: 'is not shown',
  },
  {
    name: 'stale entries of a former life are skipped',
    file: 'lua/modules/queues/ready_list.lua',
    from: 'while list.has_stale and',
    to: 'while false and',
    spec: PROPERTIES,
    test: 'stands where its new life begins',
  },
  {
    name: 'entry number: a job with a priority skips the numbers of stale entries',
    file: 'lua/modules/extended/ready_entries.lua',
    from: 'next_entry_number(entries_for(number, name_of(number)), job.id, job.entry)',
    to: 'job.entry % 255 + 1',
    spec: REUSED,
    test: 'is leased once, in its order, when it comes back with a priority behind the others',
  },
  {
    name: 'entry number: one that all stale entries have is freed before it is used again',
    file: 'lua/modules/queues/ready_list.lua',
    from: 'redis.call("LSET", ready, at, "")',
    to: 'redis.call("EXISTS", ready)',
    spec: REUSED,
    test: 'is leased once, in its order, when it comes back with {}',
  },
  {
    name: 'entry number: 0 is for far slots alone',
    file: 'lua/modules/extended/new_jobs.lua',
    from: 'entry = 1, -- 0',
    to: 'entry = 0, -- 0',
    spec: REUSED,
    test: 'is due at its own time when it comes back',
  },
  {
    name: 'a job with a priority has no live entry in the list',
    file: 'lua/modules/core/header.lua',
    from: ' and job.priority == 0',
    to: '',
    spec: OLDER,
    test: 'leases each job once from the start',
  },
  {
    name: 'a list that is said to be empty is read before it is deleted with its queue by the janitor',
    file: 'lua/commands/maintenance/tidy.lua',
    from: 'stale_head(number, length).taken == length',
    to: 'true',
    spec: OLDER,
    test: 'does not delete a queue whose jobs are not counted',
  },
  {
    name: 'a list that is said to be empty is read before it is deleted with its queue by a call',
    file: 'lua/commands/extended/delete_queue.lua',
    from: 'head.taken < math.min(length, MOST_READ) or ',
    to: '',
    spec: OLDER,
    test: 'does not delete a queue whose jobs are not counted',
  },
  {
    name: 'stale entries that are counted and not there are found',
    file: 'lua/commands/maintenance/recount.lua',
    from: 'not redis.call("LPOS", ready, entry) and entry or nil',
    to: 'nil',
    spec: OLDER,
    test: 'is repaired by the janitor',
  },
  {
    name: 'stale entries that are counted and there stay counted',
    file: 'lua/commands/maintenance/recount.lua',
    from: 'not redis.call("LPOS", ready, entry) and entry or nil',
    to: 'entry',
    spec: OLDER,
    test: 'keeps the count of stale entries that are there',
  },
  {
    name: 'the window of a unique key holds against a job with the same id',
    file: 'lua/modules/extended/unique_claims.lua',
    from: '  if holder then\n',
    to: '  if holder and holder.id ~= id then\n',
    spec: REUSED,
    test: 'outlives its job, also for a job that is published with the same id',
  },
  {
    name: 'a due time moves only the job that it belongs to',
    file: 'lua/commands/maintenance/pump.lua',
    from: 'at == number and state == (kind == "s" and SCHEDULED or LEASED)',
    to: 'state > 0',
    spec: PROPERTIES,
    test: 'by the due time of a former life',
  },
  {
    name: 'expiry is looked at when a job is shown',
    file: 'lua/modules/core/header.lua',
    from: 'return job.expires > 0 and job.expires <= now_floor',
    to: 'return false',
    spec: EXPIRY,
    test: 'is not shown',
  },
  {
    name: 'expiry is looked at when a job is moved',
    file: 'lua/commands/maintenance/pump.lua',
    from: 'local has_ended = expires > 0 and expires <= now_floor',
    to: 'local has_ended = false',
    spec: ENGINE,
    test: 'drops an expired job wherever it is',
  },
  {
    name: 'a removal is planned once for each job',
    file: 'lua/modules/jobs/removal.lua',
    from: 'if not to_delete[id] then',
    to: 'if true then',
    spec: BATCHES,
    test: 'put its expired life away once',
  },
  {
    name: 'a script that reads a ready list reads at most twice as far as it has looked',
    file: 'lua/modules/queues/ready_list_reader.lua',
    from: 'math.min(math.max(last_size, FIRST_WINDOW) * 2, math.max(math.floor(WINDOW_BYTES * found / bytes), 1))',
    to: 'math.max(math.floor(WINDOW_BYTES * found / bytes), 1)',
    spec: READS,
    test: 'short: a line',
  },
  {
    name: 'stale entries tell a script nothing about the bodies behind them',
    file: 'lua/modules/queues/ready_list_reader.lua',
    from: 'if found > 0 then',
    to: 'next_size = WINDOW_BYTES\n  if found > 0 then',
    spec: READS,
    test: 'though every second entry is stale',
  },
  {
    name: 'a script that acknowledges reads at most twice as many values as were short',
    file: 'lua/modules/core/values.lua',
    from: 'longest > 0 and size * 2 or size',
    to: '100',
    spec: READS,
    test: 'short: acknowledgements',
  },
  {
    name: 'attributes are read anew for each job',
    file: 'src/engine/publish/publisher.ts',
    from: 'one.attributes === undefined &&\n    other.attributes === undefined &&',
    to: 'one.attributes === other.attributes &&',
    spec: 'test/engine/regressions.spec.ts',
    test: 'are kept as they were when each job was published',
  },
];
