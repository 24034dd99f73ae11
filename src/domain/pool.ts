import type { Durability } from './durability.js';

/** An address of a Redis node. */
export interface NodeAddress {
  readonly host: string;
  readonly port: number;
}

/** TLS settings beyond the system's defaults; PEM texts. */
export interface PoolTls {
  /** CA of the Redis's certificate; if omitted, the CAs that the system trusts. */
  readonly ca?: string;
  /** Client certificate and its key, if that Redis requires one. */
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
  /** Where the nodes of a Cluster or Sentinel group are reached, by the address that they announce, as `host:port`. */
  readonly natMap?: Readonly<Record<string, NodeAddress>>;
  readonly username?: string;
  readonly password?: string;
  readonly db?: number;
  /** Use TLS with these settings for every node; `rediss://` alone uses TLS with the system's. */
  readonly tls?: PoolTls;
}

/** How to use a pool's Redis. */
export interface PoolOptions extends PoolTarget {
  /** Allow a Redis with an eviction policy or without AOF: jobs may be lost. */
  readonly allowUnsafe: boolean;
  /** Prefix of every key; empty by default. */
  readonly keyPrefix: string;
  /** A call without a reply fails with `pool_unavailable` after this time, in milliseconds. */
  readonly commandTimeoutMs: number;
  /** Durability of publishes that request none; default `memory`. */
  readonly durability?: Durability;
  /**
   * How long a publish waits for the disk or the replicas, in milliseconds; default 500, at most a third of the command
   * timeout.
   */
  readonly waitTimeoutMs?: number;
}
