const ONCE = 'test/redis/idempotency.spec.ts';
const QUOTAS = 'test/redis/quotas.spec.ts';
const BYTES = 'test/redis/byte-count.spec.ts';
const MODEL = 'test/redis/quotas-model.spec.ts';

/**
 * Idempotency keys, and quotas.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const PUBLISHES = [
  {
    name: 'idempotency: what was stored is noted in the same step',
    file: 'lua/scripts/publish_once.lua',
    from: 'redis.call("SET", queue_key("k", digest), fingerprint .. table.concat(rest), "PX", ttl_ms)',
    to: '',
    spec: 'test/chaos/idempotency.spec.ts',
    test: 'T28: .* at once',
  },
  {
    name: 'idempotency: a note counts for the request that made it',
    file: 'lua/lib/noted.lua',
    from: 'local is_same = note and string.sub(note, 1, 16) == fingerprint',
    to: 'local is_same = note',
    spec: ONCE,
    test: 'is refused with another body',
  },
  {
    name: 'idempotency: the fingerprint has the body in it',
    file: 'src/engine/notes.ts',
    from: 'for (const { body } of jobs) hash.update(body);',
    to: '',
    spec: 'test/e2e/idempotency.spec.ts',
    test: 'is refused with another body',
  },
  {
    name: 'idempotency: a note is good although its namespace was forgotten',
    file: 'lua/scripts/publish_once.lua',
    from: 'if noted then',
    to: 'if noted and redis.call("EXISTS", meta) == 1 then',
    spec: ONCE,
    test: 'namespace are forgotten',
  },
  {
    name: 'idempotency: a header that is no key is refused',
    file: 'src/domain/names.ts',
    from: 'return key.length <= MAX_IDEMPOTENCY_KEY && VISIBLE.test(key);',
    to: 'return key.length <= MAX_IDEMPOTENCY_KEY;',
    spec: 'test/e2e/idempotency.spec.ts',
    test: 'is refused with a blank',
  },
  {
    name: 'quotas: a call is refused as a whole',
    file: 'lua/lib/admit.lua',
    from: 'codes[at] = code',
    to: 'codes[first] = code',
    spec: QUOTAS,
    test: 'refuse a bulk as a whole',
  },
  {
    name: 'quotas: what the calls of a batch store adds up',
    file: 'lua/lib/admit.lua',
    from: 'room[number], bytes_room, stored_bytes = room[number] - fresh, bytes_room - bytes, stored_bytes + bytes',
    to: 'stored_bytes = stored_bytes + bytes',
    spec: QUOTAS,
    test: 'are exact',
  },
  {
    name: 'quotas: ghosts take no place',
    file: 'lua/lib/jobs_in.lua',
    from: ' - redis.call("SCARD", keys[3])',
    to: '',
    spec: QUOTAS,
    test: 'not for ghosts',
  },
  {
    name: 'quotas: a queue is made for calls that are stored only',
    file: 'lua/lib/admit.lua',
    from: 'new_queues = kept',
    to: '',
    spec: QUOTAS,
    test: 'make no queue for a call',
  },
  {
    name: 'quotas: a job goes for another one only if that is stored',
    file: 'lua/scripts/publish.lua',
    from: 'if old and codes[1] == "0" then',
    to: 'if old then',
    spec: QUOTAS,
    test: 'keep the old job',
  },
  {
    name: 'quotas: the bytes of a job that goes are given back',
    file: 'lua/lib/return_bytes.lua',
    from: 'redis.call("HINCRBY", meta, "bytes", -freed)',
    to: '',
    spec: MODEL,
    test: 'has the bytes counted',
  },
  {
    name: 'quotas: a job is counted once',
    file: 'lua/scripts/count_bytes.lua',
    from: 'flags < COUNTED and not seen[key]',
    to: 'not seen[key]',
    spec: BYTES,
    test: 'are counted once',
  },
  {
    name: 'quotas: nothing is written before what frees, in a full Redis',
    file: 'lua/scripts/delete_dead.lua',
    from: '-- Write.',
    to: 'redis.call("HINCRBY", meta, "bytes", 0)',
    spec: BYTES,
    test: 'in a full Redis',
  },
];
