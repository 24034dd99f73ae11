import { Cluster, type Redis } from 'ioredis';
import { type Durability, replicasOf } from '../../domain/durability.js';
import type { Client } from '../connect.js';
import { parseInfo } from '../parse-info.js';

/** What a Redis can do now to keep a write safe; for a Cluster, what each of its masters can do. */
export interface Safety {
  /** It writes each command to its disk before it answers. */
  readonly fsyncsAlways: boolean;
  /** It has WAITAOF (Redis 7.2). */
  readonly hasWaitAof: boolean;
  /** Number of replicas that are online. */
  readonly replicas: number;
}

/** Asks a Redis how safe it can keep a write. */
export async function safetyOf(client: Client): Promise<Safety> {
  const nodes = client instanceof Cluster ? client.nodes('master') : [client];
  const each = await Promise.all(nodes.map(safetyOfNode));
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

async function safetyOfNode(node: Redis): Promise<Safety> {
  const [info, fsync, [waitAof]] = await Promise.all([
    node.info(),
    // The user may lack permission for this: then it counts as not set.
    node.call('CONFIG', 'GET', 'appendfsync').catch(() => []) as Promise<unknown[]>,
    node.call('COMMAND', 'INFO', 'WAITAOF').catch(() => []) as Promise<unknown[]>,
  ]);
  const facts = parseInfo(info);
  const hasAof = facts.get('aof_enabled') === '1';
  const replicas = [...facts].filter(
    ([name, text]) => /^slave\d+$/.test(name) && text.includes('state=online'),
  );
  return {
    fsyncsAlways: hasAof && fsync[1] === 'always',
    hasWaitAof: hasAof && Array.isArray(waitAof),
    replicas: replicas.length,
  };
}
