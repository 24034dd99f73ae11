/**
 * Where Redis's memory goes: every key of the store is named (SCAN) and counted by its kind, some of each kind are weighed (MEMORY
 * USAGE), and what Redis holds beside its keys is asked for (MEMORY STATS). It knows no spelling of keys, only their shape.
 */
import { Redis } from 'ioredis';

/** Kinds with fewer keys than this are weighed whole. */
const WEIGH_ALL_BELOW = 1_000;
const SCAN_COUNT = 1_000;
/** What MEMORY USAGE counts for a key's place in the table of keys, and the table of expiries for each of its own. */
const ENTRY_BYTES = 24;
/** The object that a key's place points to; MEMORY STATS counts it as the table's, MEMORY USAGE as the value's. */
const OBJECT_BYTES = 16;

/** @type {Record<string, string>} */
const PLURALS = { list: 'lists', hash: 'hashes', set: 'sets', zset: 'sorted sets', stream: 'streams' };

/** @typedef {{ what: string, perJob: number, note: string }} Entry */

/**
 * @param {number} port of Redis
 * @param {{ jobs: number, perJob: number, samples: number }} measured `perJob`: bytes that are to be explained
 * @returns {Promise<Entry[]>} the last one is what none of the others explains
 */
export async function accountOf(port, { jobs, perJob, samples }) {
  const redis = new Redis({ host: '127.0.0.1', port });
  try {
    const kinds = await kindsOf(redis, samples);
    /** @type {Entry[]} */
    const account = [];
    for (const kind of kinds) account.push(...(await weigh(redis, kind, jobs)));
    account.push(...(await tablesOf(redis, jobs)));
    const explained = account.reduce((sum, entry) => sum + entry.perJob, 0);
    const shown = account.filter((entry) => entry.perJob >= 0.05);
    const rest = { what: 'the rest', perJob: perJob - explained, note: 'buffers, scripts, rounding' };
    return [...shown, rest];
  } finally {
    redis.disconnect();
  }
}

/**
 * Keys that are alike but for numbers and ids: what stands between the namespace and the first digit or byte of an id.
 *
 * @typedef {{ name: string, keys: number, sample: Buffer[], nameBytes: number }} Kind
 *
 * @param {Redis} redis
 * @param {number} samples
 * @returns {Promise<Kind[]>} the largest first
 */
async function kindsOf(redis, samples) {
  /** @type {Map<string, Kind>} */
  const kinds = new Map();
  let cursor = '0';
  do {
    const [next, keys] = await redis.scanBuffer(cursor, 'COUNT', SCAN_COUNT);
    cursor = next.toString();
    for (const key of keys) {
      const name = kindOf(key);
      const kind = kinds.get(name) ?? { name, keys: 0, sample: [], nameBytes: 0 };
      kinds.set(name, kind);
      kind.keys++;
      kind.nameBytes += key.length;
      if (kind.sample.length < Math.max(samples, WEIGH_ALL_BELOW)) kind.sample.push(key);
    }
  } while (cursor !== '0');
  return [...kinds.values()].sort((a, b) => b.keys - a.keys);
}

/** @param {Buffer} key */
function kindOf(key) {
  const text = key.toString('latin1');
  const rest = text.slice(text.indexOf('}') + 1);
  return /^:?[a-z]{2,}/.exec(rest)?.[0] ?? /^:?[a-z]/.exec(rest)?.[0] ?? rest;
}

/** @param {Redis} redis @param {Kind} kind @param {number} jobs @returns {Promise<Entry[]>} */
async function weigh(redis, { name, keys, sample, nameBytes }, jobs) {
  const pipeline = redis.pipeline();
  for (const key of sample) pipeline.call('MEMORY', 'USAGE', key, 'SAMPLES', '0');
  const replies = (await pipeline.exec()) ?? [];
  const weights = replies.map(([, bytes]) => Number(bytes)).filter((bytes) => bytes > 0);
  const each = weights.reduce((sum, bytes) => sum + bytes, 0) / Math.max(weights.length, 1);
  const type = await redis.type(/** @type {Buffer} */ (sample[0]));
  const length = Math.round(nameBytes / keys);
  const share = keys / jobs;
  if (type !== 'string') {
    return [
      {
        what: `${PLURALS[type] ?? type} …${name}`,
        perJob: each * share,
        note: `${keys.toLocaleString('en')} keys`,
      },
    ];
  }
  const stored = await redis.strlen(/** @type {Buffer} */ (sample[0]));
  const nameCost = allocated(length + (length < 32 ? 2 : 4));
  const value = Math.round(each - nameCost - ENTRY_BYTES);
  return [
    {
      what: `strings …${name}: values`,
      perJob: value * share,
      note: `${keys.toLocaleString('en')} keys, ${stored} B in each, and Redis's object`,
    },
    {
      what: `strings …${name}: names`,
      perJob: nameCost * share,
      note: `${length} B each, allocated ${nameCost}`,
    },
    {
      what: `strings …${name}: places in the table of keys`,
      perJob: ENTRY_BYTES * share,
      note: `${ENTRY_BYTES} B each`,
    },
  ];
}

/** The tables of keys and of expiries. @param {Redis} redis @param {number} jobs @returns {Promise<Entry[]>} */
async function tablesOf(redis, jobs) {
  const keys = await redis.dbsize();
  const stats = new Map(pairsOf(await redis.call('MEMORY', 'STATS')));
  const tables = new Map(pairsOf(stats.get('db.0')));
  const main = Number(tables.get('overhead.hashtable.main')) - keys * (ENTRY_BYTES + OBJECT_BYTES);
  const expires = Number(tables.get('overhead.hashtable.expires'));
  return [
    { what: 'slots of the table of keys', perJob: main / jobs, note: 'a power of two, 8 B each' },
    {
      what: "the table of Redis's expiries",
      perJob: expires / jobs,
      note: `${ENTRY_BYTES} B an entry, 8 B a slot`,
    },
  ];
}

/** A map of Redis's, as RESP 2 or RESP 3 gives it. @param {unknown} reply @returns {[string, unknown][]} */
function pairsOf(reply) {
  if (reply instanceof Map) return [...reply].map(([key, value]) => [String(key), value]);
  if (Array.isArray(reply)) {
    return Array.from({ length: reply.length / 2 }, (_, n) => [String(reply[2 * n]), reply[2 * n + 1]]);
  }
  return Object.entries(reply ?? {});
}

/** What jemalloc takes for so many bytes, as Redis builds it: steps of 8 up to 64 B, then four between powers of two. @param {number} bytes */
export function allocated(bytes) {
  if (bytes <= 64) return Math.ceil(bytes / 8) * 8;
  const step = 2 ** (Math.ceil(Math.log2(bytes)) - 3);
  return Math.ceil(bytes / step) * step;
}
