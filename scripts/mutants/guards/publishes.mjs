const ONCE = 'test/engine/publishing.spec.ts';
const QUOTAS = 'test/engine/quotas.spec.ts';
const BYTES = 'test/engine/bytes.spec.ts';
const MODEL = 'test/engine/quotas-model.spec.ts';

/**
 * Idempotency keys, and quotas.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const PUBLISHES = [
  {
    name: 'idempotency: the record is written in the same step',
    file: 'lua/modules/jobs/idempotency.lua',
    from: 'redis.call("SET", queue_key("k", call.digest), call.fingerprint .. table.concat(entries), "PX", call.ttl_ms)',
    to: '',
    spec: 'test/faults/idempotency.spec.ts',
    test: 'T28: .* at once',
  },
  {
    name: 'idempotency: a record counts for the request that made it',
    file: 'lua/modules/jobs/idempotency.lua',
    from: 'local is_same = record and string.sub(record, 1, 16) == fingerprint',
    to: 'local is_same = record',
    spec: ONCE,
    test: 'is refused with another body',
  },
  {
    name: 'idempotency: the fingerprint has the body in it',
    file: 'src/engine/publish/idempotency-records.ts',
    from: 'for (const { body } of jobs) hash.update(body);',
    to: '',
    spec: 'test/api/native-jobs.spec.ts',
    test: 'is refused with another body',
  },
  {
    name: 'idempotency: a record is valid although its namespace was forgotten',
    file: 'lua/commands/simple/publish.lua',
    from: 'if count * 3 == #ARGV - 5 then',
    to: 'if count * 3 == #ARGV - 5 and redis.call("EXISTS", meta) == 1 then',
    spec: ONCE,
    test: 'namespace are forgotten',
  },
  {
    name: 'idempotency: two calls of one batch with the same key store once',
    file: 'lua/modules/jobs/idempotency.lua',
    from: 'elseif seen[digest] then',
    to: 'elseif false then',
    spec: ONCE,
    test: 'of one batch store once',
  },
  {
    name: 'idempotency: a call that was stored before plans no queue',
    file: 'lua/modules/jobs/idempotency.lua',
    from: '  keep_new_queues(used)\n',
    to: '',
    spec: ONCE,
    test: 'beside others in its batch',
  },
  {
    name: 'idempotency: a header that is no key is refused',
    file: 'src/domain/ids.ts',
    from: 'return key.length <= MAX_IDEMPOTENCY_KEY && VISIBLE.test(key);',
    to: 'return key.length <= MAX_IDEMPOTENCY_KEY;',
    spec: 'test/api/native-jobs.spec.ts',
    test: 'is refused with a blank',
  },
  {
    name: 'quotas: a call is refused as a whole',
    file: 'lua/modules/limits/quotas.lua',
    from: 'codes[at] = code',
    to: 'codes[start] = code',
    spec: QUOTAS,
    test: 'refuse a bulk as a whole',
  },
  {
    name: 'quotas: what the calls of a batch store adds up',
    file: 'lua/modules/limits/quotas.lua',
    from: 'room[number], bytes_room, stored_bytes = room[number] - fresh, bytes_room - bytes, stored_bytes + bytes',
    to: 'stored_bytes = stored_bytes + bytes',
    spec: QUOTAS,
    test: 'are exact',
  },
  {
    name: 'quotas: stale entries take no room',
    file: 'lua/modules/queues/job_counts.lua',
    from: ' - redis.call("SCARD", keys[3])',
    to: '',
    spec: QUOTAS,
    test: 'not for stale entries',
  },
  {
    name: 'quotas: a queue is made for calls that are stored only',
    file: 'lua/modules/queues/registry.lua',
    from: 'new_queues = kept',
    to: '',
    spec: QUOTAS,
    test: 'make no queue for a call',
  },
  {
    name: 'quotas: a job goes for another one only if that is stored',
    file: 'lua/modules/jobs/publish.lua',
    from: 'if old and codes[1] == "0" then',
    to: 'if old then',
    spec: QUOTAS,
    test: 'keep the old job',
  },
  {
    name: 'quotas: the bytes of a job that goes are given back',
    file: 'lua/modules/jobs/removal.lua',
    from: 'redis.call("HINCRBY", meta_key, "bytes", -freed_bytes)',
    to: '',
    spec: MODEL,
    test: 'has the bytes counted',
  },
  {
    name: 'quotas: a job is counted once',
    file: 'lua/commands/maintenance/backfill_quota.lua',
    from: 'flags < COUNTED and not seen[key]',
    to: 'not seen[key]',
    spec: BYTES,
    test: 'are counted once',
  },
  {
    name: 'quotas: nothing is written before what frees, in a full Redis',
    file: 'lua/commands/simple/delete_dead.lua',
    from: '-- Write.',
    to: 'redis.call("HINCRBY", meta, "bytes", 0)',
    spec: BYTES,
    test: 'in a full Redis',
  },
];
