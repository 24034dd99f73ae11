import type { Redis } from 'ioredis';
import { JOB_STATES } from '../../src/domain/job/states.js';
import { decodeId } from '../../src/engine/core/ids.js';

const ALIVE: readonly number[] = [1, 2, 3, 5, 6];
const KINDS = ['n', 'u', 'f', 'm', 'v'];

/**
 * Reads the raw keys of what waits for what, when nothing is left for the clock to tell, and says what is wrong: each edge is known at both
 * of its ends, what ended has none, and a job is blocked if and only if something holds it up. Empty = all is well.
 *
 * @param redis a connection of the test's own
 */
export async function edgeProblems(redis: Redis, namespace: string): Promise<string[]> {
  const problems: string[] = [];
  const base = `{${namespace}}`;
  const states = new Map<string, number>();
  const edges = new Map<string, Map<string, Set<string>>>(KINDS.map((kind) => [kind, new Map()]));
  /** How failed dependencies ended, by `job dependency`. */
  const outcomes = new Map<string, string>();
  for (const key of await redis.keysBuffer(`${base}*`)) {
    const kind = String.fromCharCode(key[base.length] ?? 0);
    const id = key.subarray(base.length + 1);
    if (kind === 'j') states.set(decodeId(id), (await redis.getrangeBuffer(key, 1, 1))[0] ?? 0);
    const members =
      kind === 'f'
        ? await redis.hkeysBuffer(key)
        : KINDS.includes(kind)
          ? await redis.smembersBuffer(key)
          : [];
    if (kind === 'f')
      for (const member of members)
        outcomes.set(`${decodeId(id)} ${decodeId(member)}`, String(await redis.hget(key, member)));
    if (members.length > 0) edges.get(kind)?.set(decodeId(id), new Set(members.map(decodeId)));
  }
  const has = (kind: string, id: string, other: string): boolean =>
    edges.get(kind)?.get(id)?.has(other) === true;
  const check = (isRight: boolean, what: string): void => {
    if (!isRight) problems.push(what);
  };
  for (const kind of 'nfm')
    for (const id of edges.get(kind)?.keys() ?? [])
      check(ALIVE.includes(states.get(id) ?? 0), `${kind}: ${id} does not wait (${String(states.get(id))})`);
  for (const [id, others] of edges.get('n') ?? [])
    for (const other of others) {
      check(ALIVE.includes(states.get(other) ?? 0), `${id} waits for ${other}, which has ended`);
      check(has('u', other, id), `${id} waits for ${other}, which does not know`);
    }
  for (const [id, others] of edges.get('f') ?? [])
    for (const other of others) {
      // A dead job may come back, and knows its dependents. Other ends are final: a job that has the id now is another one.
      const isRight =
        outcomes.get(`${id} ${other}`) === 'died'
          ? states.get(other) === JOB_STATES.dead && has('v', other, id)
          : !has('u', other, id) && !has('v', other, id);
      check(isRight, `${id} waits for ${other} in vain, wrongly`);
    }
  for (const kind of 'uv')
    for (const id of edges.get(kind)?.keys() ?? []) {
      const state = states.get(id) ?? 0;
      check(kind === 'v' ? state === JOB_STATES.dead : ALIVE.includes(state), `${kind}: ${id} is ${state}`);
    }
  for (const [id, state] of states) {
    const isHeldUp = ['n', 'f', 'm'].some((kind) => edges.get(kind)?.has(id) === true);
    if (state === JOB_STATES.blocked) check(isHeldUp, `${id} is blocked by nothing`);
    // A simple job far ahead is reported when its time comes.
    else if (state !== JOB_STATES.scheduled) check(!isHeldUp, `${id} is held up in state ${state}`);
  }
  check((await redis.exists(`${base}:ended`)) === 0, 'an end is still to be told');
  return problems;
}
