import type { Redis } from 'ioredis';
import { type Durability, replicasOf } from '../../domain/durability.js';
import { parseInfo } from '../parse-info.js';

/** What a Redis can do now to keep a write safe. */
export interface Safety {
  /** It writes each command to its disk before it answers. */
  readonly fsyncsAlways: boolean;
  /** It has WAITAOF (Redis 7.2). */
  readonly hasWaitAof: boolean;
  /** Number of replicas that are online. */
  readonly replicas: number;
}

/** What each of several can do. */
export function leastOf(each: readonly Safety[]): Safety {
  return {
    fsyncsAlways: each.length > 0 && each.every(({ fsyncsAlways }) => fsyncsAlways),
    hasWaitAof: each.length > 0 && each.every(({ hasWaitAof }) => hasWaitAof),
    replicas: each.length > 0 ? Math.min(...each.map(({ replicas }) => replicas)) : 0,
  };
}

/** Why a durability is not available; undefined if it is. */
export function shortfallOf(durability: Durability, safety: Safety): string | undefined {
  const wanted = replicasOf(durability);
  // guard: impossible-durability-is-refused
  if (wanted > safety.replicas) {
    return `${durability} needs ${String(wanted)} replicas, and ${String(safety.replicas)} are connected`;
  }
  if (durability === 'aof' && !safety.fsyncsAlways && !safety.hasWaitAof) {
    return 'aof needs a Redis with appendonly yes and appendfsync always (data.appendfsync for the embedded one), or Redis 7.2 or later';
  }
  return undefined;
}

/** Asks a Redis, or a master of a Cluster, how safe it can keep a write. */
export async function safetyOf(node: Redis): Promise<Safety> {
  // The user may lack permission for this: then it counts as not set.
  const setting = (name: string): Promise<unknown[]> =>
    node.call('CONFIG', 'GET', name).catch(() => []) as Promise<unknown[]>;
  const [info, fsync, pauses, [waitAof]] = await Promise.all([
    node.info(),
    setting('appendfsync'),
    setting('no-appendfsync-on-rewrite'),
    node.call('COMMAND', 'INFO', 'WAITAOF').catch(() => []) as Promise<unknown[]>,
  ]);
  const facts = parseInfo(info);
  const hasAof = facts.get('aof_enabled') === '1';
  const replicas = [...facts].filter(
    ([name, text]) => /^slave\d+$/.test(name) && text.includes('state=online'),
  );
  return {
    // With the other one, Redis syncs nothing while it writes its AOF or its snapshot anew.
    fsyncsAlways: hasAof && fsync[1] === 'always' && /* guard: rewrite-pauses-fsync */ pauses[1] !== 'yes',
    hasWaitAof: hasAof && Array.isArray(waitAof),
    replicas: replicas.length,
  };
}
