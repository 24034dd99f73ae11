const SPEC = 'test/engine/dependencies.spec.ts';
const CANCEL = 'test/engine/changes.spec.ts';
const CHANGE = 'test/engine/changes.spec.ts';

/**
 * Jobs that wait for others, and their cancels and changes.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const DEPENDENCIES = [
  {
    name: 'dependents are notified of an end',
    file: 'lua/modules/extended/moves.lua',
    from: 'if outcome and job.x.users then',
    to: 'if false then',
    spec: SPEC,
    test: 'waits until all that it depends on is done',
  },
  {
    name: 'a dependency that would close a circle is refused',
    file: 'lua/modules/extended/dependency_cycles.lua',
    from: 'if found then',
    to: 'if false then',
    spec: SPEC,
    test: 'refuses circles and stores nothing',
  },
  {
    name: 'a delay outlives the dependencies',
    file: 'lua/modules/timers/dependents.lua',
    from: 'if at > now_floor then',
    to: 'if false then',
    spec: SPEC,
    test: 'becomes scheduled when its time is still to come',
  },
  {
    name: 'an end means nothing to a job that was made anew under its old id',
    file: 'lua/modules/timers/dependents.lua',
    from: 'if not was_unmet and redis.call("HEXISTS", touch(named_key("f", job.id)), on) == 0 then',
    to: 'if false then',
    spec: SPEC,
    test: 'means nothing to a job that was made anew',
  },
  {
    name: 'a job is not free before it is tied to all that it waits for',
    file: 'lua/modules/extended/dependencies.lua',
    from: 'waiter(job).unmet + job.failed > 0 or job.x.waits == TYING',
    to: 'waiter(job).unmet + job.failed > 0',
    spec: SPEC,
    test: 'are tied all before the one that waits for them may go',
  },
  {
    name: 'dependents of a dead job that comes back wait for it again',
    file: 'lua/modules/extended/moves.lua',
    from: 'notify_dependents(job, job.state == DEAD and "revived")',
    to: 'notify_dependents(job, false)',
    spec: SPEC,
    test: 'shows what waits in vain',
  },
  {
    name: 'an id is taken until the dependents of its job have been notified',
    file: 'lua/modules/extended/new_jobs.lua',
    from: 'return not minted and redis.call("HEXISTS", touch(namespace_key("ended")), id) == 1',
    to: 'return false',
    spec: SPEC,
    test: 'keeps its id until all have been told',
  },
  {
    name: 'a cancelled lease is taken away when its grace is over',
    file: 'lua/modules/timers/jobs.lua',
    from: 'if job and not job.is_gone and job.state == LEASED and job.x.cancel then',
    to: 'if false then',
    spec: CANCEL,
    test: 'takes it from him when his grace is over',
  },
  {
    name: 'a job that is to be cancelled does not wait again',
    file: 'lua/modules/extended/moves.lua',
    from: 'if job.x.cancel and (state == READY or state == SCHEDULED) then',
    to: 'if false then',
    spec: CANCEL,
    test: 'ends a job that comes back by',
  },
  {
    name: 'a job that is done is not cancelled',
    file: 'lua/commands/extended/cancel.lua',
    from: 'elseif job.state == DONE or job.state == CANCELLED then',
    to: 'elseif false then',
    spec: CANCEL,
    test: 'tells a job that is done or cancelled as such',
  },
  {
    name: 'a job that others depend on is not cancelled alone',
    file: 'lua/commands/extended/cancel.lua',
    from: 'if #dependents > 0 then',
    to: 'if false then',
    spec: CANCEL,
    test: 'refuses a job that others depend on',
  },
  {
    name: 'a changed job of priority 0 keeps its place in time',
    file: 'lua/modules/queues/next_job.lua',
    from: 'return came_before(job_of(head[1]), job)',
    to: 'return false',
    spec: CHANGE,
    test: 'keeps the place in time of a plain job',
  },
  {
    name: 'dependencies: one that failed does not count when its id is waited for again',
    file: 'lua/modules/extended/dependencies.lua',
    from: '      edge(job, "HDEL", named_key("f", job.id), id)',
    to: '      touch(named_key("f", job.id))',
    spec: 'test/engine/reused-ids.spec.ts',
    test: 'is waited for when the job is told so',
  },
  {
    name: 'a job that left the list for another priority leaves a stale entry there',
    file: 'lua/modules/extended/ready_entries.lua',
    from: 'job.entry = next_entry_number(entries_for(number, name_of(number)), job.id, job.entry)',
    to: 'job.entry = job.entry',
    spec: CHANGE,
    test: 'keeps the place in time of a plain job',
  },
  {
    name: 'a far job that became extended is moved near, to the extended ones',
    file: 'lua/modules/jobs/schedule.lua',
    from: 'flags % 4 >= EXTENDED and opened.extended or opened.members',
    to: 'opened.members',
    spec: CHANGE,
    test: 'changes a job far ahead where it is',
  },
  {
    name: 'a blocked job that is debounced goes on waiting',
    file: 'lua/modules/extended/unique_claims.lua',
    from: 'if job.state ~= BLOCKED then\n        go(',
    to: 'if true then\n        go(',
    spec: 'test/engine/dependencies.spec.ts',
    test: 'stays blocked when its unique key',
  },
];
