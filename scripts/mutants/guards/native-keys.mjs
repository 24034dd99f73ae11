const KEYS = 'test/engine/publishing.spec.ts';
const EXTENDED_PUBLISH = 'test/engine/extended-publish.spec.ts';
const PARTS = 'test/engine/leasing.spec.ts';

/**
 * Idempotency keys of native publishes, and long calls of the extended path that are sent in parts.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const NATIVE_KEYS = [
  {
    name: 'native keys: the idempotency record is written in the same step',
    file: 'lua/commands/extended/publish.lua',
    from: 'write("SET", queue_key("k", digest), fingerprint .. table.concat(stored), "PX", ttl_ms)',
    to: '',
    spec: KEYS,
    test: 'makes of one request',
  },
  {
    name: 'native keys: each path finds the idempotency record of the other',
    file: 'lua/modules/jobs/idempotency.lua',
    from: 'call.form == 0 and id or',
    to: 'id or',
    spec: KEYS,
    test: 'by the other path: simple first',
  },
  {
    name: 'native keys: the fingerprint has all fields in it',
    file: 'src/engine/publish/idempotency-records.ts',
    from: 'Object.entries(rest).sort',
    to: 'Object.entries({}).sort',
    spec: KEYS,
    test: 'is refused with another priority',
  },
  {
    name: 'native publish: its header reaches the engine',
    file: 'src/jobs/jobs.service.ts',
    from: 'key === undefined ? options : { ...options, idempotencyRecord: nativeIdempotencyRecordOf(key, jobs) }',
    to: 'key === undefined ? options : {}',
    spec: 'test/api/native-jobs.spec.ts',
    test: 'with an Idempotency-Key is answered alike',
  },
  {
    name: 'extended path: a publish that is sent again finds its own ids',
    file: 'lua/commands/extended/publish.lua',
    from: 'not options.minted or redis.call("EXISTS", job_key(id)) == 1',
    to: 'not options.minted',
    spec: KEYS,
    test: 'that the driver sends again',
  },
  {
    name: 'extended jobs of the simple publish script: their queue becomes an extended one',
    file: 'lua/modules/jobs/publish_extended.lua',
    from: 'redis.call("HSET", queues_key, kind.name, -kind.number)',
    to: '',
    spec: EXTENDED_PUBLISH,
    test: 'makes a queue extended that has simple jobs',
  },
  {
    name: 'extended jobs of the simple publish script: they are in their indexes',
    file: 'lua/modules/jobs/publish_extended.lua',
    from: 'redis.call("ZADD", key, unpack(list))',
    to: '',
    spec: EXTENDED_PUBLISH,
    test: 'with a type stores the same',
  },
  {
    name: 'extended jobs of the simple publish script: the retention of the namespace counts',
    file: 'lua/modules/jobs/publish_extended.lua',
    from: 'fields.keep or retention_ms or nil',
    to: 'fields.keep',
    spec: EXTENDED_PUBLISH,
    test: 'keeps jobs as long as their namespace says',
  },
  {
    name: 'jobs of one call become ready in their order',
    file: 'lua/modules/extended/new_jobs.lua',
    from: 'will_change(job) -- Now',
    to: 'job -- Now',
    spec: EXTENDED_PUBLISH,
    test: 'keeps the order of a batch in which some jobs have a type, with the extended script',
  },
  {
    name: 'an id that is in use by an expired extended job is free',
    file: 'lua/modules/jobs/publish.lua',
    from: 'is_expired(present) and publish_kinds[args[first + item * 3 - 3]].native and "8" or "1"',
    to: '"1"',
    spec: EXTENDED_PUBLISH,
    test: 'takes that of a job that has expired',
  },
  {
    name: 'an ack that names no queue leaves extended jobs to the extended path',
    file: 'lua/commands/simple/ack.lua',
    from: 'find_queue(name) ~= number or is_extended_queue[name]',
    to: 'false',
    spec: 'test/engine/batches.spec.ts',
    test: 'that name no queue find their jobs',
  },
  {
    name: 'a job that an extended queue gives to one of many who wait is for the one whose request leased it',
    file: 'src/engine/lease/long-poll-manager.ts',
    from: ' && (!request || waiter.request === request)',
    to: '',
    spec: 'src/engine/lease/long-poll-manager.spec.ts',
    test: 'for one of them reach that one',
  },
  {
    name: 'extended path: what is undone stands as before',
    file: 'src/engine/settle/settler.ts',
    from: '.reverse()',
    to: '',
    spec: PARTS,
    test: 'goes in parts',
  },
  {
    name: 'extended path: a long lease goes on behind its first part',
    file: 'src/engine/lease/leases.ts',
    from: 'const rest = jobs ? restOf(fetch, jobs) : null;',
    to: 'const rest = null as FetchRequest | null;',
    spec: PARTS,
    test: 'goes in parts',
  },
  {
    name: 'extended path: a lease takes no more than a script has the time for',
    file: 'src/engine/lease/extended-parts.ts',
    from: 'const MOST_AT_ONCE = 50;',
    to: 'const MOST_AT_ONCE = 100;',
    spec: PARTS,
    test: 'goes in parts',
  },
];
