import type { Redis } from 'ioredis';
import { Keys } from '../../src/redis/keys.js';
import { flatten } from '../../src/redis/scripts/script.js';
import { scriptText } from '../../src/redis/scripts/texts.js';
import type { SlotMove } from '../support/cluster.js';
import type { Call } from '../topologies/cluster-cases.js';

const KEYS = new Keys('');

/** Runs a call on one node, which follows no redirection. @throws its error */
export async function send(
  redis: Redis,
  asking: boolean,
  { binding, args, items }: Call,
  ns: string,
): Promise<unknown> {
  const sha = await load(redis, binding.name);
  const pipeline = redis.pipeline();
  if (asking) pipeline.asking();
  pipeline.callBuffer('EVALSHA', sha, ...flatten(binding, { ...KEYS.namespace(ns) }, args, items));
  const results = (await pipeline.exec()) ?? [];
  const [error, reply] = results.at(-1) ?? [new Error('no answer'), null];
  if (error) throw error;
  return reply;
}

/** The scripts that a node has. */
const loaded = new WeakMap<Redis, Set<string>>();

async function load(redis: Redis, name: string): Promise<string> {
  const { sha, text } = scriptText(name);
  const known = loaded.get(redis) ?? new Set();
  if (!known.has(sha)) await redis.script('LOAD', text);
  loaded.set(redis, known.add(sha));
  return sha;
}

/** Every key of the slot with its value, as either node has it. */
export async function dump(move: SlotMove): Promise<string[]> {
  const parts = await Promise.all(
    [move.source, move.target].map(async (node) => {
      const keys = await move.keysAt(node);
      const pipeline = node.redis.pipeline();
      for (const key of keys) pipeline.asking().callBuffer('DUMP', key);
      const values = ((await pipeline.exec()) ?? []).filter((_, i) => i % 2 === 1);
      return keys.map(
        (key, i) =>
          `${node.server.port} ${key.toString('hex')} ${(values[i]?.[1] as Buffer | null)?.toString('hex') ?? ''}`,
      );
    }),
  );
  return parts.flat().sort();
}
