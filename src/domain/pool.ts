import type { Durability } from './durability.js';

/** An address of a Redis node. */
export interface NodeAddress {
  readonly host: string;
  readonly port: number;
}

/** What TLS to a Redis needs beyond what the system has; PEM texts. */
export interface PoolTls {
  /** Who must have signed the Redis's certificate; left out, whom the system trusts. */
  readonly ca?: string;
  /** Our own certificate and its key, if that Redis asks for one. */
  readonly cert?: string;
  readonly key?: string;
}

/** Where a pool's Redis is: exactly one of `url`, `socketPath`, `sentinels` (with `masterName`) or `clusterNodes`. */
export interface PoolTarget {
  /** `redis://[user:password@]host:port[/db]`, or `rediss://` for TLS. */
  readonly url?: string;
  /** A Unix socket: the embedded Redis. */
  readonly socketPath?: string;
  readonly sentinels?: readonly NodeAddress[];
  readonly masterName?: string;
  readonly sentinelPassword?: string;
  readonly clusterNodes?: readonly NodeAddress[];
  readonly username?: string;
  readonly password?: string;
  readonly db?: number;
  /** TLS with these, to every node; with `rediss://` alone it is TLS with the system's. */
  readonly tls?: PoolTls;
}

/** How to use a pool's Redis. */
export interface PoolOptions extends PoolTarget {
  /** Serve from a Redis with an eviction policy or without AOF: jobs may be lost. */
  readonly allowUnsafe: boolean;
  /** Stands before every key; empty by default. */
  readonly keyPrefix: string;
  /** A call that has no answer by then fails with `pool_unavailable`, in milliseconds. */
  readonly commandTimeoutMs: number;
  /** What a publish gets that asks for nothing; `memory` if it is left out. */
  readonly durability?: Durability;
  /** How long a publish waits for the disk or the replicas, in milliseconds; 500 if it is left out, at most a third of the command timeout. */
  readonly waitTimeoutMs?: number;
}
