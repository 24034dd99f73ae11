/**
 * The fixed keys of a namespace. All carry the hash tag `{namespace}`: one Cluster slot, so that every script over them is legal.
 * What belongs to one job or one queue is spelt inside the scripts (lua/lib/keys.lua), from the prefix of `meta`.
 */
export interface NamespaceKeys {
  readonly meta: string;
  readonly queues: string;
  readonly due: string;
  readonly waiting: string;
  readonly expiries: string;
  readonly sending: string;
  readonly imported: string;
  readonly listening: string;
  readonly events: string;
  readonly settings: string;
  readonly tags: string;
  readonly groups: string;
  readonly workers: string;
  readonly traces: string;
}

/** Kinds of per-queue keys: ready list, scheduled, leased and dead zsets, zset of far slots, set of ghosts, info hash. */
export type QueueKeyKind = 'r' | 's' | 'l' | 'd' | 'f' | 'g' | 'i';

/** Spells the keys of one pool; `prefix` stands before every key. */
export class Keys {
  private readonly cache = new Map<string, NamespaceKeys>();

  constructor(private readonly prefix: string) {}

  /** The set of registered namespaces. */
  get namespaces(): string {
    return `${this.prefix}pumphouse:namespaces`;
  }

  /** The version of the data format in this Redis. */
  get format(): string {
    return `${this.prefix}pumphouse:format`;
  }

  /** Says that jobs that were stored without the quota on bytes have been counted, and need not be for a while. */
  get counted(): string {
    return `${this.prefix}pumphouse:counted`;
  }

  /** Namespaces whose events somebody reads, scored by when they are no longer written, Unix ms. */
  get watched(): string {
    return `${this.prefix}pumphouse:watched`;
  }

  /** The pub/sub channel of wake-ups: `namespace queue`. Known to lua/lib/notify.lua. */
  get wakeChannel(): string {
    return `${this.prefix}pumphouse:wake`;
  }

  /** The sharded pub/sub channel of a namespace's wake-ups, in the slot of its keys. Known to lua/lib/notify_sharded.lua. */
  wakeChannelOf(namespace: string): string {
    return `${this.prefix}{${namespace}}:wake`;
  }

  namespace(namespace: string): NamespaceKeys {
    let keys = this.cache.get(namespace);
    if (!keys) {
      const base = `${this.prefix}{${namespace}}:`;
      keys = {
        meta: `${base}meta`,
        queues: `${base}queues`,
        due: `${base}due`,
        waiting: `${base}waiting`,
        expiries: `${base}expiries`,
        sending: `${base}sending`,
        imported: `${base}imported`,
        listening: `${base}listening`,
        events: `${base}events`,
        settings: `${base}settings`,
        tags: `${base}tags`,
        groups: `${base}groups`,
        workers: `${base}workers`,
        traces: `${base}traces`,
      };
      // Namespaces come and go; the cache must not remember all that ever were.
      if (this.cache.size >= 10_000) this.cache.clear();
      this.cache.set(namespace, keys);
    }
    return keys;
  }

  /** What stands before and behind a namespace in the key of its due times, for a script that looks at many namespaces. */
  get dueParts(): readonly [string, string] {
    return [`${this.prefix}{`, '}:due'];
  }

  /** A job's key; `encodedId` as `encodeId` gives it. For tests and tools: scripts spell it themselves. */
  job(namespace: string, encodedId: Buffer): Buffer {
    return Buffer.concat([Buffer.from(`${this.prefix}{${namespace}}j`), encodedId]);
  }

  /** The statistics of a day, counted from 1970-01-01 UTC. */
  day(namespace: string, day: number): string {
    return `${this.prefix}{${namespace}}:t${String(day)}`;
  }

  /** A glob pattern of every key of a namespace, of whatever kind. */
  allOf(namespace: string): string {
    return `${this.prefix}{${namespace}}*`;
  }

  /** A glob pattern of the keys of all jobs. */
  get jobs(): string {
    return `${this.prefix}{*}j*`;
  }

  /** The namespace and the encoded id of a job's key; null if it is none. */
  jobOf(key: Buffer): { readonly namespace: string; readonly id: Buffer } | null {
    const begin = this.prefix.length + 1;
    const end = key.indexOf('}j', begin, 'latin1');
    const id = key.subarray(end + 2);
    return end < 0 || id.length === 0 ? null : { namespace: key.toString('latin1', begin, end), id };
  }

  /** The note of an idempotency key, by its digest. For tests and tools: scripts spell it themselves. */
  note(namespace: string, digest: Buffer): Buffer {
    return Buffer.concat([Buffer.from(`${this.prefix}{${namespace}}:k`), digest]);
  }

  /** Who holds a unique key of the native API. For tests and tools: scripts spell it themselves. */
  uniqueKey(namespace: string, key: string): string {
    return `${this.prefix}{${namespace}}o${key}`;
  }

  /** A queue's key by its number. For tests and tools: scripts spell it themselves. */
  queue(namespace: string, kind: QueueKeyKind, number: number): string {
    return `${this.prefix}{${namespace}}:${kind}${String(number)}`;
  }
}
