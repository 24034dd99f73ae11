const KEYS = 'test/redis/native-idempotency.spec.ts';
const PARTS = 'test/redis/lease-parts.spec.ts';

/**
 * Idempotency keys of native publishes, and long calls of the full lane that go in parts.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const NATIVE_KEYS = [
  {
    name: 'native keys: what was stored is noted in the same step',
    file: 'lua/scripts/full_put.lua',
    from: 'write("SET", queue_key("k", digest), fingerprint .. table.concat(who), "PX", ttl_ms)',
    to: '',
    spec: KEYS,
    test: 'makes of one request',
  },
  {
    name: 'native keys: both lanes find the note of the other',
    file: 'lua/scripts/publish_once.lua',
    from: 'form == "ids" and id or',
    to: 'id or',
    spec: KEYS,
    test: 'by the other lane: plain first',
  },
  {
    name: 'native keys: the fingerprint has all fields in it',
    file: 'src/engine/notes.ts',
    from: 'Object.entries(rest).sort',
    to: 'Object.entries({}).sort',
    spec: KEYS,
    test: 'is refused with another priority',
  },
  {
    name: 'native publish: its header reaches the engine',
    file: 'src/jobs/rich-jobs.service.ts',
    from: 'key === undefined ? options : { ...options, note: nativeNoteOf(key, jobs) }',
    to: 'key === undefined ? options : {}',
    spec: 'test/e2e/native-publish.spec.ts',
    test: 'with an Idempotency-Key is answered alike',
  },
  {
    name: 'full lane: a publish that is sent again finds its own ids',
    file: 'lua/scripts/full_put.lua',
    from: 'not options.minted or redis.call("EXISTS", job_key(id)) == 1',
    to: 'not options.minted',
    spec: KEYS,
    test: 'that the driver sends again',
  },
  {
    name: 'full lane: what is undone stands as before',
    file: 'src/engine/full/settling.ts',
    from: '.reverse()',
    to: '',
    spec: PARTS,
    test: 'goes in parts',
  },
  {
    name: 'full lane: a long lease goes on behind its first part',
    file: 'src/engine/leases.ts',
    from: 'const rest = jobs ? restOf(question, jobs) : null;',
    to: 'const rest = null as Question | null;',
    spec: PARTS,
    test: 'goes in parts',
  },
  {
    name: 'full lane: a lease takes no more than a script has the time for',
    file: 'src/engine/full/parts.ts',
    from: 'const MOST_AT_ONCE = 50;',
    to: 'const MOST_AT_ONCE = 100;',
    spec: PARTS,
    test: 'goes in parts',
  },
];
