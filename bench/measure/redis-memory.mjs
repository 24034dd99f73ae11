/**
 * Where Redis's memory goes: every key of the store is named (SCAN) and counted by its kind, some of each kind are weighed (MEMORY
 * USAGE), and what Redis holds beside its keys is asked for (MEMORY STATS). It knows no spelling of keys, only their shape.
 */
import { Redis } from 'ioredis';

/** Kinds with fewer keys than this are weighed whole. */
const WEIGH_ALL_BELOW = 1_000;
const SCAN_COUNT = 1_000;
/** What MEMORY USAGE and MEMORY STATS count for an entry of a table, whatever the allocator takes for it. */
const ENTRY_BYTES = 24;
const SLOT_BYTES = 8;
/** The object that a key's place points to; MEMORY STATS counts it as the table's, MEMORY USAGE as the value's. */
const OBJECT_BYTES = 16;

/** @type {Record<string, string>} */
const PLURALS = { list: 'lists', hash: 'hashes', set: 'sets', zset: 'sorted sets', stream: 'streams' };
/** How the members are counted of those types that keep them in a table when they are large. @type {Record<string, string>} */
const SIZE_OF = { hash: 'HLEN', set: 'SCARD', zset: 'ZCARD' };

/** @typedef {{ what: string, perJob: number, note: string }} Entry */

/**
 * @param {number} port of Redis
 * @param {{ jobs: number, perJob: number, samples: number }} measured `perJob`: bytes that are to be explained
 * @returns {Promise<Entry[]>} the last one is what none of the others explains
 */
export async function memoryAccountOf(port, { jobs, perJob, samples }) {
  const redis = new Redis({ host: '127.0.0.1', port });
  try {
    const quantum = await quantumOf(redis);
    const kinds = await kindsOf(redis, samples);
    /** @type {Entry[]} */
    const account = [];
    for (const kind of kinds) account.push(...(await weigh(redis, kind, { jobs, quantum })));
    account.push(...(await tablesOf(redis, { jobs, quantum })));
    const explained = account.reduce((sum, entry) => sum + entry.perJob, 0);
    const shown = account.filter((entry) => entry.perJob >= 0.05);
    const rest = { what: 'the rest', perJob: perJob - explained, note: 'buffers, scripts, rounding' };
    return [...shown, rest];
  } finally {
    redis.disconnect();
  }
}

/** The step of jemalloc's small sizes, which differs with the build. @param {Redis} redis */
async function quantumOf(redis) {
  const stats = String(await redis.call('MEMORY', 'MALLOC-STATS'));
  return Number(/Quantum size: *(\d+)/.exec(stats)?.[1] ?? 8);
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
  // What belongs to one job has one letter before the id, whose bytes may be letters too.
  return /^:[a-z]+/.exec(rest)?.[0] ?? rest.slice(0, 1);
}

/**
 * @param {Redis} redis
 * @param {Kind} kind
 * @param {{ jobs: number, quantum: number }} of `quantum`: jemalloc's, for what an entry of a table really takes
 * @returns {Promise<Entry[]>}
 */
async function weigh(redis, { name, keys, sample, nameBytes }, { jobs, quantum }) {
  const entryCost = allocated(ENTRY_BYTES, quantum);
  const each = mean(await pipelined(redis, sample, (key) => ['MEMORY', 'USAGE', key, 'SAMPLES', '0']));
  const [first = Buffer.alloc(0)] = sample;
  const type = await redis.type(first);
  const share = keys / jobs;
  const count = keys === 1 ? 'one key' : `${keys.toLocaleString('en')} keys`;
  if (type !== 'string') {
    const members = await tableMembers(redis, type, sample);
    const cost = each + (entryCost - ENTRY_BYTES) * (1 + members);
    return [{ what: `${PLURALS[type] ?? type} …${name}`, perJob: cost * share, note: count }];
  }
  const length = Math.round(nameBytes / keys);
  // Redis's string: a head of 1 or 3 bytes, and a zero at its end.
  const nameCost = allocated(length + (length < 32 ? 2 : 4), quantum);
  const value = each - nameCost - ENTRY_BYTES;
  const stored = await redis.strlen(first);
  const what = (/** @type {string} */ part) => `strings …${name}: ${part}`;
  return [
    {
      what: what('values'),
      perJob: value * share,
      note: `${count}, ${stored} B in each, and Redis's object`,
    },
    { what: what('names'), perJob: nameCost * share, note: `${length} B each, allocated ${nameCost}` },
    {
      what: what('entries of the table of keys'),
      perJob: entryCost * share,
      note: `${ENTRY_BYTES} B each, allocated ${entryCost}`,
    },
  ];
}

/** How many members a key of a kind holds in a table, on average; those in compact form count none. @param {Redis} redis @param {string} type @param {Buffer[]} sample */
async function tableMembers(redis, type, sample) {
  const command = SIZE_OF[type];
  if (!command) return 0;
  const some = sample.slice(0, WEIGH_ALL_BELOW);
  const sizes = await pipelined(redis, some, (key) => [command, key]);
  const encodings = await pipelined(redis, some, (key) => ['OBJECT', 'ENCODING', key]);
  return mean(sizes.map((size, at) => (/^(skiplist|hashtable)$/.test(String(encodings[at])) ? size : 0)));
}

/** The reply to one command for each key. @param {Redis} redis @param {Buffer[]} keys @param {(key: Buffer) => any[]} commandOf */
async function pipelined(redis, keys, commandOf) {
  const pipeline = redis.pipeline();
  for (const key of keys) pipeline.call(.../** @type {[string, ...any[]]} */ (commandOf(key)));
  return ((await pipeline.exec()) ?? []).map(([, reply]) => reply);
}

/** @param {unknown[]} values */
const mean = (values) => values.reduce((sum, value) => Number(sum) + Number(value), 0) / values.length;

/**
 * The tables of keys (without the entries, which are counted with their keys) and of expiries.
 *
 * @param {Redis} redis
 * @param {{ jobs: number, quantum: number }} of
 * @returns {Promise<Entry[]>}
 */
async function tablesOf(redis, { jobs, quantum }) {
  const entryCost = allocated(ENTRY_BYTES, quantum);
  const keys = await redis.dbsize();
  const expiring = Number(/expires=(\d+)/.exec(await redis.info('keyspace'))?.[1] ?? 0);
  const stats = new Map(pairsOf(await redis.call('MEMORY', 'STATS')));
  const tables = new Map(pairsOf(stats.get('db.0')));
  const main = Number(tables.get('overhead.hashtable.main')) - keys * (ENTRY_BYTES + OBJECT_BYTES);
  const expires = Number(tables.get('overhead.hashtable.expires')) + expiring * (entryCost - ENTRY_BYTES);
  return [
    { what: 'slots of the table of keys', perJob: main / jobs, note: `a power of two, ${SLOT_BYTES} B each` },
    {
      what: "the table of Redis's expiries",
      perJob: expires / jobs,
      note: `${entryCost} B an entry, ${SLOT_BYTES} B a slot`,
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

/**
 * What jemalloc takes for so many bytes: steps of its quantum, and from four quanta up four sizes between powers of two.
 *
 * @param {number} bytes
 * @param {number} quantum
 */
export function allocated(bytes, quantum) {
  if (bytes <= 8) return 8;
  const power = 2 ** Math.ceil(Math.log2(bytes));
  const step = Math.max(quantum, power / 8);
  return Math.ceil(bytes / step) * step;
}
