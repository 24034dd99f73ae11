import { createHash } from 'node:crypto';
import { Redis } from 'ioredis';
import { JOB_STATES } from '../../src/domain/job/states.js';
import { kindOf } from '../../src/redis/record-kinds.js';
import { decodeId, encodeId, mintedAtMs } from '../../src/engine/core/ids.js';

/** A header as the audit reads it from the raw key: on purpose not by the engine's own decoder. */
interface Header {
  readonly state: number;
  readonly flags: number;
  readonly priority: number;
  readonly tries: number;
  readonly attempts: number;
  readonly lease: number;
  readonly queue: number;
  readonly entry: number;
  readonly expires: number;
}

/** The states of jobs with a slot of their concurrency key, by its score. */
const SLOT_STATES: readonly (readonly number[])[] = [
  [JOB_STATES.leased],
  [JOB_STATES.ready],
  [JOB_STATES.scheduled, JOB_STATES.blocked, JOB_STATES.held],
  [JOB_STATES.dead],
];
/** How long a slot is, and how long before it begins its jobs move near, in milliseconds: as lua/modules/jobs/schedule.lua has it. */
export const SLOT_MS = 262_144;
export const LEAD_MS = 60_000;

/** Longer than any audit takes, in milliseconds. */
const HELD_MS = 60_000;
const HEADER_BYTES = 24;
/** The flag of a job whose body counts for the quota on bytes. */
const COUNTED = 128;

/** The flag of an extended job. */
const EXTENDED = 2;
/** Kinds of the index for each state. */
const SIMPLE_PLACES: Readonly<Record<number, string>> = { 1: 'r', 2: 's', 3: 'l', 4: 'd' };
const EXTENDED_PLACES: Readonly<Record<number, string>> = {
  1: 'r',
  2: 'S',
  3: 'L',
  4: 'd',
  5: 'b',
  6: 'h',
  7: 'z',
  8: 'z',
};

/** States in which a job holds its unique key. */
const LIVE: ReadonlySet<number> = new Set([1, 2, 3, 5, 6]);

/** A job's places: where the indexes of its queue hold it. */
type Places = Map<string, string[]>;

/** As lua/modules/limits/beside_bytes.lua: what a job may have beside its body, and what a dependency counts. */
const FREE_BYTES = 512;
const BYTES_OF_EDGE = 128;

/** As lua/modules/queues/fair_keys.lua: what stands for a fair key in Redis. */
function fairNameOf(key: string): string {
  if (Buffer.byteLength(key) <= 20 && !key.startsWith('#')) return key;
  return `#${createHash('sha1').update(key).digest('hex').slice(0, 20)}`;
}

function besideOf({ beside: _counted, ...fields }: Readonly<Record<string, Buffer>>): number {
  const bytes = Object.values(fields).reduce((sum, value) => sum + value.length, 0);
  const edges = Number(fields['edges']?.toString() ?? 0);
  return Math.max(bytes + BYTES_OF_EDGE * edges - FREE_BYTES, 0);
}

/**
 * Reads every raw key of a namespace and reports what is wrong. Each job is in exactly one place, the one that its
 * header names; no place has an entry without a job. Stale entries, tombstones and bytes are counted right; the pump
 * knows the due times.
 *
 * @param redis a connection of the test's own
 * @returns the problems; empty = all is well
 */
export class Audit {
  private readonly problems: string[] = [];
  private readonly places: Places = new Map();
  private readonly headers = new Map<string, Header>();
  /** Bytes of the bodies of jobs that say that they count for a quota. */
  private counted = 0;
  private readonly extended = new Set<number>();
  /** Jobs of priority 0 that stand among those of other priorities. */
  private readonly asides = new Set<string>();
  /** Types of jobs. */
  private readonly types = new Map<string, string>();
  /** Queues whose extended jobs are all in the lists of their types. */
  private readonly byType = new Set<number>();
  /** Names of the fair keys of jobs, as Redis has them. */
  private readonly fairNames = new Map<string, string>();
  /** Queues whose jobs with a fair key are all in the lists of their keys. */
  private readonly fair = new Set<number>();
  /** Scores of jobs that are kept after their end. */
  private readonly kept = new Map<string, number>();
  /** The first time in each zset of times of the extended path, by the name of its timer. */
  private readonly firsts = new Map<string, number>();
  private readonly base: string;

  private constructor(
    private readonly redis: Redis,
    namespace: string,
  ) {
    this.base = `{${namespace}}`;
  }

  /** Holds every write to the store meanwhile: a server that runs, or a kept job that expires, would change what was read. */
  static async of(redis: Redis, namespace: string): Promise<string[]> {
    const audit = new Audit(redis, namespace);
    await redis.call('CLIENT', 'PAUSE', HELD_MS, 'WRITE');
    try {
      return await audit.run();
    } finally {
      await redis.call('CLIENT', 'UNPAUSE');
    }
  }

  private async run(): Promise<string[]> {
    const keys = await this.redis.keysBuffer(`${this.base}*`);
    await this.readJobs(keys);
    const queues = await this.redis.hgetall(`${this.base}:queues`);
    // A number below zero says that the queue is a full one.
    const numbers = Object.entries(queues).map(([name, text]) => [name, Math.abs(Number(text))] as const);
    for (const [name, number] of numbers) await this.readQueue(name, number);
    for (const text of Object.values(queues)) if (text.startsWith('-')) this.extended.add(-Number(text));
    this.readStrays(keys, new Set(numbers.map(([, number]) => String(number))));
    for (const number of this.extended) {
      await this.readExtendedQueue(number);
      const listed = (await this.readTypeLists(number)) + (await this.readFairLists(number));
      const typed = Number((await this.redis.hget(`${this.base}:i${String(number)}`, 'typed')) ?? 0);
      if (typed !== listed)
        this.problems.push(`queue ${number}: ${typed} jobs in lists counted, ${listed} are there`);
    }
    await this.readEnds();
    await this.readUniqueKeys(keys);
    await this.readConcurrencySlots(keys);
    await this.readTimers();
    await this.readRecords();
    await this.readSessions(keys);
    await this.readTargets(keys);
    this.compare();
    return this.problems;
  }

  /** What jobs store beside their bodies counts too. */
  private async readBeside(keys: readonly Buffer[]): Promise<void> {
    for (const key of keys) {
      if (String.fromCharCode(key[this.base.length] ?? 0) !== 'x') continue;
      const id = decodeSafely(key.subarray(this.base.length + 1));
      const fields = await this.redis.hgetallBuffer(key);
      const counted = Number(fields['beside']?.toString() ?? 0);
      const isCounted = (this.headers.get(id)?.flags ?? 0) >= COUNTED;
      const there = isCounted ? besideOf(fields) : 0;
      if (counted !== there)
        this.problems.push(`${id}: ${counted} bytes beside its body are counted, ${there} are there`);
      this.counted += counted;
    }
  }

  private async readRecurringBytes(keys: readonly Buffer[]): Promise<void> {
    for (const key of keys)
      if (String.fromCharCode(key[this.base.length] ?? 0) === 'R')
        this.counted += Number((await this.redis.hget(key, 'counted')) ?? 0);
  }

  private async readJobs(keys: readonly Buffer[]): Promise<void> {
    const start = this.base.length;
    for (const key of keys) {
      const kind = String.fromCharCode(key[start] ?? 0);
      if (kind !== 'j') continue;
      const value = await this.redis.getBuffer(key);
      const header = readHeader(value);
      this.headers.set(decodeSafely(key.subarray(start + 1)), header);
      if (header.flags >= COUNTED) this.counted += (value?.length ?? 0) - HEADER_BYTES;
    }
    await this.readBeside(keys);
    await this.readRecurringBytes(keys);
    const sum = Number((await this.redis.hget(`${this.base}:meta`, 'bytes')) ?? 0);
    if (sum !== this.counted) this.problems.push(`${sum} bytes are said to be there, ${this.counted} are`);
    for (const key of keys) {
      if (String.fromCharCode(key[start] ?? 0) !== 'x') continue;
      const id = decodeSafely(key.subarray(start + 1));
      const flags = this.headers.get(id)?.flags;
      if (((flags ?? 0) & 1) !== 1)
        this.problems.push(`${id}: attributes without a job that has them (flags ${flags})`);
      if ((await this.redis.hexists(key, 'aside')) === 1) this.asides.add(id);
      const [type, fair, ckey] = await this.redis.hmget(key, 'type', 'fair', 'ckey');
      if (type != null) this.types.set(id, type);
      const fairKey = fair ?? ckey;
      if (fairKey != null) this.fairNames.set(id, fairNameOf(fairKey));
    }
  }

  private async readQueue(name: string, number: number): Promise<void> {
    const key = (kind: string): string => `${this.base}:${kind}${number}`;
    const [entries, staleEntries, info] = await Promise.all([
      this.redis.lrangeBuffer(key('r'), 0, -1),
      this.redis.smembersBuffer(key('g')),
      this.redis.hgetall(key('i')),
    ]);
    if (info['name'] !== name) this.problems.push(`queue ${number} is called ${info['name']}, not ${name}`);
    this.readLine(number, entries, staleEntries, Number(info['blanks'] ?? 0));
    let earliest = Number.POSITIVE_INFINITY;
    for (const kind of ['s', 'l', 'd'] as const) {
      const members = await this.redis.zrangeBuffer(key(kind), '0', '-1');
      for (const member of members) this.add(decodeSafely(member), `${kind}${number}`);
      if (kind === 'd' || members.length === 0) continue;
      const score = await this.redis.zscore(key(kind), members[0]!);
      earliest = Math.min(earliest, Number(score));
    }
    earliest = Math.min(earliest, await this.readSlots(number, Number(info['far'] ?? 0)));
    const due = await this.redis.zscore(`${this.base}:due`, String(number));
    if (earliest !== Number.POSITIVE_INFINITY && (due === null || Number(due) > earliest))
      this.problems.push(`queue ${name}: first due at ${earliest}, but the pump knows ${due}`);
  }

  /** The indexes of extended jobs. */
  private async readExtendedQueue(number: number): Promise<void> {
    for (const kind of ['p', 'S', 'L', 'b', 'h', 'z']) {
      const members = await this.redis.zrangeBuffer(`${this.base}:${kind}${number}`, '0', '-1', 'WITHSCORES');
      for (let i = 0; i < members.length; i += 2) {
        const id = decodeSafely(members[i]!);
        this.add(id, `${kind}${number}`);
        if (kind === 'z') this.kept.set(id, Number(members[i + 1]!.toString()));
      }
      const first = members[1]?.toString();
      if (first !== undefined && (kind === 'S' || kind === 'L'))
        this.firsts.set(`${kind}${number}`, Number(first));
    }
  }

  /** The lists of types: the directory has each with the score of its first job, and the number of their jobs is right. */
  private async readTypeLists(number: number): Promise<number> {
    const key = `${this.base}:e${String(number)}:`;
    const lists = await this.redis.keys(`${key.replaceAll(/[[\]?*]/g, '\\$&')}*`);
    const directory = await this.redis.zrange(`${this.base}:D${String(number)}`, '0', '-1', 'WITHSCORES');
    const heads = new Map<string, string>();
    for (let i = 0; i < directory.length; i += 2) heads.set(directory[i]!, directory[i + 1]!);
    let found = 0;
    for (const list of lists) {
      const type = list.slice(key.length);
      const members = await this.redis.zrangeBuffer(list, '0', '-1', 'WITHSCORES');
      for (let i = 0; i < members.length; i += 2)
        this.add(decodeSafely(members[i]!), `e${String(number)}:${type}`);
      found += members.length / 2;
      if (heads.get(type) !== members[1]!.toString())
        this.problems.push(
          `queue ${number}: ${type} begins at ${String(members[1])}, directory ${String(heads.get(type))}`,
        );
      heads.delete(type);
    }
    for (const type of heads.keys()) this.problems.push(`queue ${number}: ${type} has no list`);
    const facts = await this.redis.hmget(`${this.base}:i${String(number)}`, 'by_type', 'ordering');
    const [isByType, ordering] = facts;
    if (isByType != null && ordering === null) this.byType.add(number);
    return found;
  }

  /** The lists of fair keys: each has a turn, its jobs are also in lists by type if the queue is leased by type. */
  private async readFairLists(number: number): Promise<number> {
    const start = `${this.base}:Q${String(number)}:`;
    const turns = await this.zset(`${this.base}:Q${String(number)}`);
    const typed = new Set<string>();
    const expected = new Set<string>();
    const facts = await this.redis.hmget(`${this.base}:i${String(number)}`, 'fair', 'fair_order');
    if (facts[0] === 'on' && facts[1] === null) this.fair.add(number);
    let found = 0;
    for (const list of await this.redis.keys(`${start.replaceAll(/[[\]?*]/g, '\\$&')}*`)) {
      const [name = '', type] = list.slice(start.length).split('\n');
      const members = [...(await this.zset(list, decodeSafely)).keys()];
      if (type !== undefined) {
        for (const id of members) typed.add(`${name} ${type} ${id}`);
        const turn = (
          await this.zset(`${this.base}:q${String(number)}${type === '' ? '-' : `:${type}`}`)
        ).get(name);
        if (turn === undefined || turn > turns.get(name)! + 1_000_000)
          this.problems.push(
            `queue ${number}: ${name} has turn ${turn} for ${type}, ${turns.get(name)} for all`,
          );
        continue;
      }
      found += members.length;
      for (const id of members) {
        this.add(id, `Q${String(number)}:${name}`);
        if (this.byType.has(number)) expected.add(`${name} ${this.types.get(id) ?? ''} ${id}`);
      }
      if (!turns.delete(name)) this.problems.push(`queue ${number}: ${name} has jobs, and no turn`);
    }
    for (const name of turns.keys()) this.problems.push(`queue ${number}: ${name} has a turn, and no jobs`);
    const types = new Set(await this.redis.smembers(`${this.base}:q${String(number)}`));
    for (const type of new Set([...typed].map((one) => one.split(' ')[1] ?? '')))
      if (!types.has(type))
        this.problems.push(`queue ${number}: ${type} is not among the types of fair keys`);
    for (const one of this.byType.has(number) ? [...typed, ...expected] : [])
      if (typed.has(one) !== expected.has(one))
        this.problems.push(`queue ${number}: ${one} is in one list of two`);
    return found;
  }

  private async zset(
    key: string,
    decode = (member: Buffer): string => member.toString(),
  ): Promise<Map<string, number>> {
    const flat = await this.redis.zrangeBuffer(key, '0', '-1', 'WITHSCORES');
    const pairs = new Map<string, number>();
    for (let i = 0; i < flat.length; i += 2) pairs.set(decode(flat[i]!), Number(flat[i + 1]!.toString()));
    return pairs;
  }

  /** Jobs that are kept: their score is when they ended, below zero if they were cancelled. */
  private async readEnds(): Promise<void> {
    for (const [id, score] of this.kept) {
      const fields = Buffer.concat([Buffer.from(`${this.base}x`), encodeId(id)!]);
      const endedMs = Number(await this.redis.hget(fields, 'ended'));
      const isCancelled = this.headers.get(id)?.state === JOB_STATES.cancelled;
      if (score !== (isCancelled ? -endedMs : endedMs))
        this.problems.push(`${id}: kept at ${score}, ended at ${endedMs}`);
    }
  }

  /** Keys that are held as long as their job lives: it must live, and hold this one. */
  private async readUniqueKeys(keys: readonly Buffer[]): Promise<void> {
    for (const key of keys.filter((one) => one[this.base.length] === 'o'.charCodeAt(0))) {
      const value = (await this.redis.getBuffer(key)) ?? Buffer.from('1 ');
      const space = value.indexOf(' ');
      if (value.toString('latin1', 0, space) !== '0') continue;
      const id = value.subarray(space + 1);
      const { state = 0 } = this.headers.get(decodeSafely(id)) ?? {};
      const fields = Buffer.concat([Buffer.from(`${this.base}x`), id]);
      const held = await this.redis.hget(fields, 'unique');
      if (!LIVE.has(state) || held !== key.toString('utf8', this.base.length + 1))
        this.problems.push(`${key.toString()} is held by ${decodeSafely(id)} in state ${state} with ${held}`);
    }
  }

  /** A slot of a concurrency key belongs to a job of that queue that knows of it, and its score says in which state the job is. */
  private async readConcurrencySlots(keys: readonly Buffer[]): Promise<void> {
    const held = new Map<string, string>();
    for (const key of keys) {
      const [, number] = /^c(\d+):[0-9a-f]{40}$/.exec(key.toString('latin1', this.base.length + 1)) ?? [];
      if (number === undefined) continue;
      const pairs = await this.redis.zrangeBuffer(key, '0', '-1', 'WITHSCORES');
      for (let i = 0; i < pairs.length; i += 2)
        held.set(decodeSafely(pairs[i]!), `${number} ${pairs[i + 1]!.toString()}`);
    }
    for (const [id, { flags, queue, state }] of this.headers) {
      if ((flags & EXTENDED) === 0) continue;
      const fields = Buffer.concat([Buffer.from(`${this.base}x`), encodeId(id)!]);
      const [slot, ckey] = await this.redis.hmget(fields, 'slot', 'ckey');
      if (state === JOB_STATES.leased && ckey != null && slot == null)
        this.problems.push(`${id}: runs without a slot of its key`);
      if (slot != null && !SLOT_STATES[Number(slot)]?.includes(state))
        this.problems.push(`${id}: in state ${state} with slot ${slot}`);
      const expected = slot == null ? undefined : `${queue} ${slot}`;
      if (held.get(id) !== expected)
        this.problems.push(`${id}: slot ${held.get(id)}, but knows of ${expected}`);
      held.delete(id);
    }
    for (const [id, slot] of held) this.problems.push(`${id}: holds slot ${slot}, but there is no such job`);
  }

  /** Checks that the extended path's timer is set for everything that is due. */
  private async readTimers(): Promise<void> {
    const expiring = new Map<string, number>();
    const pairs = await this.redis.zrangeBuffer(`${this.base}:expiring`, '0', '-1', 'WITHSCORES');
    for (let i = 0; i < pairs.length; i += 2)
      expiring.set(decodeSafely(pairs[i]!), Number(pairs[i + 1]!.toString()));
    for (const [letter, key] of [
      ['R', 'recurring'],
      ['C', 'cron'],
      ['Z', 'keeping'],
    ] as const) {
      const [, time] = await this.redis.zrange(`${this.base}:${key}`, '0', '0', 'WITHSCORES');
      if (time !== undefined) this.firsts.set(letter, Number(time));
    }
    if (expiring.size > 0) this.firsts.set('E', Math.min(...expiring.values()));
    for (const [id, { flags, state, expires }] of this.headers) {
      const isExpected = (flags & EXTENDED) !== 0 && expires > 0 && state !== JOB_STATES.dead;
      if (isExpected && expiring.get(id) !== expires)
        this.problems.push(`${id}: ends at ${expires}, but the clock knows ${expiring.get(id)}`);
    }
    let first = Number.POSITIVE_INFINITY;
    const timers = await this.redis.zrange(`${this.base}:timers`, '0', '-1', 'WITHSCORES');
    const known = new Map<string, number>();
    for (let i = 0; i < timers.length; i += 2) {
      known.set(timers[i]!, Number(timers[i + 1]));
      first = Math.min(first, Number(timers[i + 1]));
    }
    for (const [what, at] of this.firsts)
      if ((known.get(what) ?? Number.POSITIVE_INFINITY) > at)
        this.problems.push(`timer ${what}: first due at ${at}, but the clock knows ${known.get(what)}`);
    const due = await this.redis.zscore(`${this.base}:due`, '0');
    if (first < Number.POSITIVE_INFINITY && (due === null || Number(due) > first))
      this.problems.push(`timers: first due at ${first}, but the pump knows ${due}`);
  }

  /** The lists of far slots: when the first one opens. An entry counts while its job is scheduled here and stands nowhere else. */
  private async readSlots(number: number, counted: number): Promise<number> {
    const slots = await this.redis.zrange(`${this.base}:f${number}`, '0', '-1', 'WITHSCORES');
    let found = 0;
    for (let i = 0; i < slots.length; i += 2) {
      const [slot, opensMs] = [Number(slots[i]), Number(slots[i + 1])];
      if (opensMs !== slot * SLOT_MS - LEAD_MS) this.problems.push(`slot ${slot} opens at ${opensMs}`);
      for (const entry of await this.redis.lrangeBuffer(`${this.base}:f${number}:${slot}`, 0, -1)) {
        if (Math.floor(entry.readUIntBE(0, 6) / SLOT_MS) !== slot)
          this.problems.push(`an entry in slot ${slot} is not of it`);
        const id = decodeSafely(entry.subarray(6, -1));
        const header = this.headers.get(id);
        if (
          header?.state !== JOB_STATES.scheduled ||
          header.entry !== entry.at(-1) ||
          header.queue !== number
        )
          continue;
        // A job that became extended while it was far ahead stays in its slot until that is opened.
        this.add(id, `${(header.flags & EXTENDED) === 0 ? 's' : 'S'}${number}`);
        found++;
      }
    }
    if (found !== counted)
      this.problems.push(`queue ${number}: ${counted} far jobs counted, ${found} are there`);
    return slots.length > 0 ? Number(slots[1]) : Number.POSITIVE_INFINITY;
  }

  private readLine(
    number: number,
    entries: readonly Buffer[],
    staleEntries: readonly Buffer[],
    tombstones: number,
  ): void {
    const stale = new Set(staleEntries.map((staleEntry) => staleEntry.toString('hex')));
    let found = 0;
    let tombstone = 0;
    for (const entry of entries) {
      if (entry.length === 0) {
        tombstone++;
        continue;
      }
      const id = decodeSafely(entry.subarray(0, -1));
      const header = this.headers.get(id);
      const isLive =
        header?.state === JOB_STATES.ready && header.entry === entry.at(-1) && header.queue === number;
      const isStale = stale.has(entry.toString('hex'));
      if (isLive && isStale)
        this.problems.push(`${id}: alive in line ${number}, and counted as a stale entry`);
      if (isLive) this.add(id, `r${number}`);
      else if (isStale) found++;
      else this.problems.push(`${id}: a stale entry in line ${number} that is not counted`);
    }
    if (found !== staleEntries.length)
      this.problems.push(`line ${number}: ${staleEntries.length} stale entries counted, ${found} are there`);
    if (tombstone !== tombstones)
      this.problems.push(`line ${number}: ${tombstones} tombstones counted, ${tombstone} are there`);
  }

  private readStrays(keys: readonly Buffer[], numbers: ReadonlySet<string>): void {
    for (const key of keys) {
      const rest = key.toString('latin1', this.base.length);
      const kind = kindOf(rest);
      if (!kind) this.problems.push(`${key.toString('latin1')} is of no kind`);
      // What outlives the jobs of its queue outlives the queue.
      if (!kind?.form.includes('<n>') || kind.outlivesJobs) continue;
      const [number = ''] = /\d+/.exec(rest) ?? [];
      if (!numbers.has(number)) this.problems.push(`${key.toString('latin1')} belongs to no queue`);
    }
  }

  /** Push targets: every queue is pushed to a target that is there, and a breaker has one. */
  private async readTargets(keys: readonly Buffer[]): Promise<void> {
    const key = `${this.base}:targets`;
    if (!keys.some((one) => one.toString('latin1') === key)) return;
    const all = await this.redis.hgetall(key);
    for (const [field, value] of Object.entries(all)) {
      if (!/^(?:[va]|[tqb]:[-_A-Za-z0-9]+|b:[-_A-Za-z0-9]+ https?:\S+)$/.test(field))
        this.problems.push(`targets have the field ${field}`);
      const [of = ''] = field.slice(2).split(' ');
      const target = field.startsWith('q:') ? value : field.startsWith('b:') ? of : null;
      if (target !== null && all[`t:${target}`] === undefined)
        this.problems.push(`${field} names the target ${target}, which is not there`);
    }
    if (!(Number(all['v']) > 0)) this.problems.push('targets were stored without a change');
    const [, last = '0'] = await this.redis.zrevrange(`${this.base}:target_changes`, 0, 0, 'WITHSCORES');
    if (Number(last) > Number(all['v'])) this.problems.push('the log of targets is ahead of them');
  }

  /** Records of leases whose answers may not have left: they tell of leases that were given. */
  private async readRecords(): Promise<void> {
    // All at once: a server deletes them as answers leave.
    const unpack = `local all = redis.call("HGETALL", KEYS[1])
      for i = 2, #all, 2 do all[i] = cmsgpack.unpack(all[i]) end
      return all`;
    const key = `${this.base}:sending`;
    const all = (await this.redis.callBuffer('EVAL_RO', unpack, 1, key)) as (Buffer | Buffer[])[];
    for (let at = 0; at < all.length; at += 2) {
      const field = String(all[at]);
      if (!/^[\w-]{8}\d+$/.test(field)) this.problems.push(`record ${field} belongs to no process`);
      const [, ...pairs] = all[at + 1] as Buffer[];
      if (pairs.length === 0) this.problems.push(`record ${field} is empty`);
      for (let i = 0; i < pairs.length; i += 2) {
        const header = this.headers.get(decodeSafely(pairs[i + 1]!));
        const lease = pairs[i]!.readUInt32BE(4);
        // A job with a chosen id may have been published again since.
        if (header && header.lease < lease && mintedAtMs(pairs[i + 1]!) > 0)
          this.problems.push(`record ${field}: lease ${lease} of a job that had ${header.lease}`);
      }
    }
  }

  /** Sessions of workers that are known; each goes with its worker, by a timer, or by its TTL if an older server forgets the worker. */
  private async readSessions(keys: readonly Buffer[]): Promise<void> {
    const workers = `${this.base}:workers`;
    for (const key of keys.filter((one) => one.toString('latin1').startsWith(`${this.base}:W:`))) {
      const worker = key.toString('utf8', this.base.length + 3);
      const [at, ttr, jobs, began, info] = await this.redis.hmget(key, 'at', 'ttr', 'jobs', 'began', 'info');
      if (at == null || ttr == null || jobs == null || began == null || info == null)
        this.problems.push(`session ${worker} lacks a field`);
      const seen = Number(await this.redis.zscore(workers, worker));
      if (seen < Number(at)) this.problems.push(`session ${worker}: alive at ${at}, worker seen at ${seen}`);
      if ((await this.redis.pttl(key)) <= 0) this.problems.push(`session ${worker} has no TTL`);
      if ((await this.redis.zscore(`${this.base}:timers`, 'W')) === null)
        this.problems.push(`session ${worker}: no timer forgets it`);
      const lostAt = await this.redis.zscore(`${this.base}:sessions`, worker);
      if (lostAt !== null && Number(lostAt) !== Number(at) + Number(ttr))
        this.problems.push(`session ${worker}: alive at ${at} for ${ttr} ms, lost at ${lostAt}`);
    }
    for (const worker of await this.redis.zrange(`${this.base}:sessions`, '0', '-1')) {
      if ((await this.redis.exists(`${this.base}:W:${worker}`)) === 0)
        this.problems.push(`session ${worker} is to be lost, and does not exist`);
      if ((await this.redis.zscore(`${this.base}:timers`, 'H')) === null)
        this.problems.push(`session ${worker}: no timer finds that it is lost`);
    }
  }

  private compare(): void {
    for (const [id, { state, queue, tries, attempts, flags, priority, entry }] of this.headers) {
      const isExtended = (flags & EXTENDED) !== 0;
      const kinds = isExtended ? EXTENDED_PLACES : SIMPLE_PLACES;
      const isByPriority =
        isExtended && state === JOB_STATES.ready && (priority !== 0 || this.asides.has(id));
      const isListed = isExtended && state === JOB_STATES.ready && entry === 0;
      const type = this.types.get(id);
      const kind = isByPriority || (isListed && type === undefined) ? 'p' : (kinds[state] ?? '?');
      const places = this.places.get(id) ?? [];
      const fairPlace = isListed ? `Q${queue}:${this.fairNames.get(id) ?? ''}` : '';
      const isInTurn = places.includes(fairPlace);
      const inOrder = isListed && type !== undefined ? `e${queue}:${type}` : `${kind}${queue}`;
      const place = isInTurn ? fairPlace : inOrder;
      const mustBeInTurn = this.fair.has(queue) && this.fairNames.has(id) && isExtended;
      if (mustBeInTurn && state === JOB_STATES.ready && !isInTurn)
        this.problems.push(`${id}: ready in fair queue ${queue}, and not in the list of its key`);
      if (
        type !== undefined &&
        state === JOB_STATES.ready &&
        isExtended &&
        !isListed &&
        this.byType.has(queue)
      )
        this.problems.push(`${id}: ready in queue ${queue}, and not in the list of its type`);
      if (isExtended && !this.extended.has(queue))
        this.problems.push(`${id}: extended, in simple queue ${queue}`);
      if (places.length !== 1 || places[0] !== place)
        this.problems.push(`${id}: should be in ${place} alone, is in [${places.join()}]`);
      if (state === JOB_STATES.ready && tries === 0)
        this.problems.push(`${id}: ready without a try left (${attempts} used)`);
    }
    for (const [id, places] of this.places)
      if (!this.headers.has(id)) this.problems.push(`${id}: in ${places.join()}, but there is no such job`);
  }

  private add(id: string, place: string): void {
    this.places.set(id, [...(this.places.get(id) ?? []), place]);
  }
}

function readHeader(value: Buffer | null): Header {
  if (value === null) throw new Error('a job went while it was looked at');
  return {
    state: value.readUInt8(1),
    flags: value.readUInt8(2),
    priority: value.readInt8(3),
    tries: value.readUInt16BE(4),
    attempts: value.readUInt16BE(6),
    lease: value.readUInt32BE(8),
    queue: value.readUInt32BE(12),
    entry: value.readUInt8(16),
    expires: value.readUIntBE(17, 6),
  };
}

function decodeSafely(id: Buffer): string {
  return id.length === 0 ? '(nothing)' : decodeId(id);
}
