const SPEC = 'test/redis/full-regressions.spec.ts';
const RIGHTS = 'test/e2e/native-rights.spec.ts';

/**
 * The full lane where two things meet: quotas, dead jobs that others wait for, clocks, late owners, rights.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const FULL_REGRESSIONS = [
  {
    name: 'full lane: data of heartbeats counts for the quota',
    file: 'lua/lib/full/beat.lua',
    from: 'bodies.replace(job, bytes)',
    to: 'will_change(job).body = bytes',
    spec: SPEC,
    test: 'follow the data of heartbeats',
  },
  {
    name: 'full lane: bytes are given back of the body that the script wrote',
    file: 'lua/lib/full/bytes.lua',
    from: 'job.body and #job.body or ',
    to: '',
    spec: SPEC,
    test: 'follow what is said of one job',
  },
  {
    name: 'full lane: a dead job that is purged is told to those that wait for it',
    file: 'lua/lib/full/purge.lua',
    from: 'if state >= DONE then',
    to: 'if state == DEAD or state >= DONE then',
    spec: SPEC,
    test: 'know that a dead job',
  },
  {
    name: 'full lane: a rate owes no more than a burst',
    file: 'lua/lib/full/rates.lua',
    from: 'ms <= rate.burst * every(rate) + MOST_STEP_MS and ms or 0',
    to: 'ms',
    spec: SPEC,
    test: 'hold nothing up when the clock|of a key hold nothing up',
  },
  {
    name: 'full lane: new data makes late owners lose a job',
    file: 'lua/lib/full/bytes.lua',
    from: 'if is_new and job.attempts > 0 then',
    to: 'if false then',
    spec: SPEC,
    test: 'are not acknowledged by who comes late',
  },
  {
    name: 'full lane: a cancelled job does not die of its last lease',
    file: 'lua/lib/full/time_out.lua',
    from: 'if job.tries == 0 and not job.x.cancel then',
    to: 'if job.tries == 0 then',
    spec: SPEC,
    test: 'are cancelled when their last lease',
  },
  {
    name: 'full lane: data of a log line is kept as text',
    file: 'src/engine/full/changing.ts',
    from: '[DATA_TEXT]: JSON.stringify(data)',
    to: 'data',
    spec: SPEC,
    test: 'keep what is logged',
  },
  {
    name: 'full lane: a unique key that counts for its own queue',
    file: 'lua/lib/full/claim_key.lua',
    from: 'is_foreign and "5" or ',
    to: '',
    spec: SPEC,
    test: 'are touched in no other queue',
  },
  {
    name: 'full lane: a stream that begins anew is read from its beginning',
    file: 'src/engine/events/feed.ts',
    from: 'if (comparePlaces(page.newest, place) < 0) {',
    to: 'if (page.newest === place + place) {',
    spec: SPEC,
    test: 'is followed from its beginning',
  },
  {
    name: 'full lane: a slot that is moving stops a script before it writes',
    file: 'lua/lib/full/still.lua',
    from: 'redis.call("EXISTS", meta, space_key("never"))',
    to: '',
    spec: 'test/redis/cluster-move-full.spec.ts',
    test: 'a change goes through',
  },
  {
    name: 'rights: unique keys reach into no other queue',
    file: 'src/jobs/rich-jobs.service.ts',
    from: 'jobs.map((job) => withinRights(caller.rights, job))',
    to: 'jobs',
    spec: RIGHTS,
    test: 'removes and changes no job of another one',
  },
  {
    name: 'rights: unique keys of recurring jobs reach into no other queue',
    file: 'src/schedules/recurring.service.ts',
    from: 'withinRights(caller.rights, recurring.template)',
    to: 'recurring.template',
    spec: RIGHTS,
    test: 'removes and changes no job of another one',
  },
  {
    name: 'rights: a cascade is for tokens of all queues',
    file: 'src/jobs/changes.service.ts',
    from: 'if (request.cascade === true) checkAllQueues(caller.rights);',
    to: '',
    spec: RIGHTS,
    test: 'cancels nothing that depends',
  },
  {
    name: 'leases of a chosen id are numbered from the clock',
    file: 'lua/lib/full/new.lua',
    from: 'lease = options.minted and 0 or now_floor % 2147483648',
    to: 'lease = 0',
    spec: 'test/redis/full-lane.spec.ts',
    test: 'no owner of a former job',
  },
];
