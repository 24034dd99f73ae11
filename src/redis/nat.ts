import type { NodeAddress, PoolTarget } from '../domain/pool.js';

/** An address as `host:port`, as Redis and the driver write it. */
export function textOfAddress({ host, port }: NodeAddress): string {
  return `${host}:${String(port)}`;
}

/** Where this server reaches a node that announces an address: there, unless `natMap` names another place. */
export function reachedAt(announced: NodeAddress, { natMap }: Pick<PoolTarget, 'natMap'>): NodeAddress {
  return natMap?.[textOfAddress(announced)] ?? announced;
}
