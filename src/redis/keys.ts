/**
 * The fixed keys of a namespace. All have the hash tag `{namespace}`: one Cluster slot, so that every script over them
 * is legal. The scripts build the keys of single jobs and queues (lua/modules/core/call.lua) from the prefix of `meta`.
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
  readonly variables: string;
  readonly tags: string;
  readonly groups: string;
  readonly workers: string;
  /** Worker sessions that are not lost. */
  readonly sessions: string;
  readonly traces: string;
  readonly targets: string;
  /** When lease requests last named each queue. */
  readonly requested: string;
  /** Which fields of `targets` changed when. */
  readonly target_changes: string;
  /** When each queue last had activity, for its history. */
  readonly changed: string;
  /** The last sample of each queue. */
  readonly samples: string;
}

/**
 * Kinds of per-queue keys: ready list, scheduled, leased and dead zsets, zset of far time slots, set of stale entries,
 * info hash.
 */
export type QueueKeyKind = 'r' | 's' | 'l' | 'd' | 'f' | 'g' | 'i';

/** Builds the keys of one pool; `prefix` precedes every key. */
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

  /** The run of the store that servers know, and the lowest lease number in it. */
  get run(): string {
    return `${this.prefix}pumphouse:run`;
  }

  /** The same of one node of a Cluster: the first of these keys that is in a slot of the node. */
  runOfNode(index: number): string {
    return `${this.run}{${String(index)}}`;
  }

  /** Marks that jobs stored without the byte quota have been counted; the mark expires. */
  get counted(): string {
    return `${this.prefix}pumphouse:counted`;
  }

  /** Marks that jobs whose queue was deleted with them in it have been recovered. */
  get recovered(): string {
    return `${this.prefix}pumphouse:recovered`;
  }

  /** Zset of namespaces with event listeners, scored by the time when writing events ends, Unix ms. */
  get watched(): string {
    return `${this.prefix}pumphouse:watched`;
  }

  /** Set of namespaces that have, or had, push targets. */
  get pushed(): string {
    return `${this.prefix}pumphouse:pushed`;
  }

  /** Marks that a process reads all keys to move records to another Redis, or has done so lately; it expires. */
  get moving(): string {
    return `${this.prefix}pumphouse:moving`;
  }

  /** Zset of namespaces, scored by the time when something of their queues was counted or sampled last, Unix ms. */
  get active(): string {
    return `${this.prefix}pumphouse:active`;
  }

  /** Names the process that collects samples; it expires. */
  get collector(): string {
    return `${this.prefix}pumphouse:collector`;
  }

  /** What collecting needs to know of earlier collectors: its last run, when nothing was collected, bytes by slot. */
  get history(): string {
    return `${this.prefix}pumphouse:history`;
  }

  /** The pub/sub channel of wake-ups, with messages `namespace queue`. Also in lua/modules/queues/notify.lua. */
  get wakeChannel(): string {
    return `${this.prefix}pumphouse:wake`;
  }

  /**
   * The sharded pub/sub channel of a namespace's wake-ups, in the slot of its keys. Also in lua/modules/queues/wakeup_channel_sharded.lua.
   */
  wakeChannelOf(namespace: string): string {
    return `${this.prefix}{${namespace}}:wake`;
  }

  /** A name for keys that stand for those of all namespaces. */
  readonly sampleNamespace = 'pumphouse';

  /** Keys of each kind, to find out whether a user of Redis may use them. */
  get samples(): string[] {
    const { meta } = this.namespace(this.sampleNamespace);
    return [meta, this.job(this.sampleNamespace, Buffer.from('0')).toString(), this.format];
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
        variables: `${base}variables`,
        tags: `${base}tags`,
        groups: `${base}groups`,
        workers: `${base}workers`,
        sessions: `${base}sessions`,
        traces: `${base}traces`,
        targets: `${base}targets`,
        requested: `${base}requested`,
        target_changes: `${base}target_changes`,
        changed: `${base}changed`,
        samples: `${base}samples`,
      };
      // Namespaces come and go: the cache is bounded.
      if (this.cache.size >= 10_000) this.cache.clear();
      this.cache.set(namespace, keys);
    }
    return keys;
  }

  /** A recurring job. Scripts build it themselves. */
  recurring(namespace: string, id: string): string {
    return `${this.prefix}{${namespace}}R${id}`;
  }

  /** The record of an operation. Scripts build it themselves. */
  operation(namespace: string, id: string): string {
    return `${this.prefix}{${namespace}}:O:${id}`;
  }

  /** A key that a namespace has once, by its name in src/redis/record-kinds.ts. */
  single(namespace: string, name: string): string {
    return `${this.prefix}{${namespace}}:${name}`;
  }

  /** When a namespace was purged last, for a day. Also in lua/modules/core/purges.lua. */
  purged(namespace: string): string {
    return `${this.prefix}pumphouse:purged:{${namespace}}`;
  }

  /** What precedes and follows a namespace in the key of its due times, for a script that reads many namespaces. */
  get dueParts(): readonly [string, string] {
    return [`${this.prefix}{`, '}:due'];
  }

  /** A job's key; `encodedId` as returned by `encodeId`. For tests and tools: scripts build it themselves. */
  job(namespace: string, encodedId: Buffer): Buffer {
    return Buffer.concat([Buffer.from(`${this.prefix}{${namespace}}j`), encodedId]);
  }

  /** The statistics of a day, counted from 1970-01-01 UTC. */
  day(namespace: string, day: number): string {
    return `${this.prefix}{${namespace}}:t${String(day)}`;
  }

  /** What was counted of queues in a slot of five minutes. */
  activity(namespace: string, slot: number): string {
    return `${this.prefix}{${namespace}}:a${String(slot)}`;
  }

  /** Points of ten seconds in a slot of five minutes. */
  recentPoints(namespace: string, slot: number): string {
    return `${this.prefix}{${namespace}}:P${String(slot)}`;
  }

  /** Points of five minutes in a slot of six hours. */
  pastPoints(namespace: string, slot: number): string {
    return `${this.prefix}{${namespace}}:H${String(slot)}`;
  }

  /** A glob pattern of all keys of a namespace. */
  allOf(namespace: string): string {
    return `${this.prefix}{${namespace}}*`;
  }

  /** A glob pattern of the keys of all jobs. */
  get jobs(): string {
    return `${this.prefix}{*}j*`;
  }

  /** Parses a job's key into namespace and encoded id; null if it is not a job's key. */
  jobOf(key: Buffer): { readonly namespace: string; readonly id: Buffer } | null {
    const begin = this.prefix.length + 1;
    const end = key.indexOf('}j', begin, 'latin1');
    const id = key.subarray(end + 2);
    return end < 0 || id.length === 0 ? null : { namespace: key.toString('latin1', begin, end), id };
  }

  /** The record of an idempotency key, by its digest. For tests and tools: scripts build it themselves. */
  idempotencyRecord(namespace: string, digest: Buffer): Buffer {
    return Buffer.concat([Buffer.from(`${this.prefix}{${namespace}}:k`), digest]);
  }

  /**
   * The key that stores the holder of a unique key of the native API. For tests and tools: scripts build it themselves.
   */
  uniqueKey(namespace: string, key: string): string {
    return `${this.prefix}{${namespace}}o${key}`;
  }

  /** The session of a worker. For tests and tools: scripts build it themselves. */
  session(namespace: string, worker: string): string {
    return `${this.prefix}{${namespace}}:W:${worker}`;
  }

  /** A queue's key by its number. For tests and tools: scripts build it themselves. */
  queue(namespace: string, kind: QueueKeyKind, number: number): string {
    return `${this.prefix}{${namespace}}:${kind}${String(number)}`;
  }
}
