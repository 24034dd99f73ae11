import type { Redis } from 'ioredis';
import { decodeId } from '../../src/engine/core/ids.js';
import { JOB_STATES } from '../../src/domain/job/states.js';

const EXTENDED = 2;
/** States in which a job may be among those of a worker; it must be while it is leased. */
const STAYS_WITH_WORKER: ReadonlySet<number> = new Set([
  JOB_STATES.leased,
  JOB_STATES.ready,
  JOB_STATES.scheduled,
  JOB_STATES.held,
]);

/** An index as it is, and as it should be: id → whether it must be there (else it may be). */
type Members = Map<string, boolean>;

/**
 * Reads every job and every index of a namespace beside those of the states: by tag, type, failure group and worker, tracked jobs and counts.
 *
 * @returns what is wrong; empty = all is well
 */
export async function auditIndexes(redis: Redis, namespace: string): Promise<string[]> {
  const base = `{${namespace}}`;
  const wanted = new Map<string, Members>();
  const want = (key: string, id: string, must = true): void => {
    wanted.set(key, (wanted.get(key) ?? new Map<string, boolean>()).set(id, must));
  };
  for (const key of await redis.keysBuffer(`${base}j*`)) {
    const id = key.subarray(base.length + 1);
    const value = await redis.getBuffer(key);
    if (value === null || (value.readUInt8(2) & EXTENDED) === 0) continue;
    const x = await redis.hgetall(Buffer.concat([Buffer.from(`${base}x`), id]));
    wantsOf(x, value.readUInt8(1)).forEach(([name, must]) => want(name, decodeId(id), must));
  }
  const problems: string[] = [];
  const found = new Map<string, number>();
  for (const key of await redis.keys(`${base}:*`)) {
    const name = key.slice(base.length + 1);
    if (!/^[tyFw]:/.test(name) && name !== 'tracked') continue;
    const members = (await redis.zrangeBuffer(key, '0', '-1')).map(decodeId);
    found.set(name, members.length);
    for (const id of members)
      if (wanted.get(name)?.has(id) !== true) problems.push(`${name} has ${id} for nothing`);
    const missing = [...(wanted.get(name) ?? [])].filter(([id, must]) => must && !members.includes(id));
    problems.push(...missing.map(([id]) => `${name} has not ${id}`));
  }
  for (const [name, members] of wanted)
    if (!found.has(name) && [...members.values()].some(Boolean)) problems.push(`${name} is not there`);
  return [...problems, ...(await countsOf(redis, base, found))];
}

/** Names of indexes that a job is to be in; false = may be in. */
function wantsOf(x: Readonly<Record<string, string>>, state: number): [string, boolean][] {
  const { tags = '[]', unindexed, type, fgroup, worker, tracked } = x;
  // A job of a queue with `index_tags: false` has tags and is in none of their indexes.
  const indexed = unindexed === undefined ? (JSON.parse(tags) as string[]) : [];
  const names = indexed.map((tag): [string, boolean] => [`t:${tag}`, true]);
  if (type !== undefined) names.push([`y:${type}`, true]);
  if (state === JOB_STATES.dead && fgroup !== undefined) names.push([`F:${fgroup}`, true]);
  // A job whose lease ran out stays with its worker while it waits.
  if (worker !== undefined && STAYS_WITH_WORKER.has(state))
    names.push([`w:${worker}`, state === JOB_STATES.leased]);
  if (tracked !== undefined) names.push(['tracked', true]);
  return names;
}

async function countsOf(redis: Redis, base: string, found: ReadonlyMap<string, number>): Promise<string[]> {
  const problems: string[] = [];
  for (const [counts, kind] of [
    ['tags', 't:'],
    ['groups', 'F:'],
  ] as const) {
    const flat = await redis.zrange(`${base}:${counts}`, '0', '-1', 'WITHSCORES');
    const sizes = new Map(flat.flatMap((name, i) => (i % 2 === 0 ? [[name, Number(flat[i + 1])]] : [])));
    const names = new Set([
      ...sizes.keys(),
      ...[...found.keys()].filter((name) => name.startsWith(kind)).map((name) => name.slice(2)),
    ]);
    for (const name of names) {
      const there = found.get(kind + name) ?? 0;
      if (sizes.get(name) !== there)
        problems.push(`${counts}: ${sizes.get(name)} of ${name}, ${there} are there`);
    }
  }
  return problems;
}
