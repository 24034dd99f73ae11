import { QUOTA_FIELDS, QUOTA_NAMES, type QuotaName, type Quotas } from '../domain/job/quotas.js';
import type { RedisPool } from '../redis/pool.js';
import type { Item } from '../redis/scripts/script.js';
import { TokenKeys } from './token-keys.js';
import { quotasSet } from './token-scripts.js';

/** A namespace of a pool. */
export interface Tenant {
  readonly pool: string;
  readonly namespace: string;
}

/** The quotas that differ from the defaults, by pool and namespace. */
export type ChosenQuotas = ReadonlyMap<string, ReadonlyMap<string, Partial<Quotas>>>;

const VERSION = 'v';

/**
 * The quotas of namespaces that have their own, beside the tokens: they are the operator's, stay when a namespace is purged, and do not
 * move with a pool.
 *
 * @throws {QueueError} as `TokenStore`
 */
export class QuotaStore {
  private readonly key: string;

  constructor(private readonly redis: RedisPool) {
    this.key = new TokenKeys(redis.options.keyPrefix).quotas;
  }

  /** Changes with each change of a quota. */
  async version(): Promise<number> {
    return Number(await this.redis.read('HGET', this.key, VERSION));
  }

  async all(): Promise<ChosenQuotas> {
    const fields = await this.redis.read('HGETALL', this.key);
    const flat = Array.isArray(fields) ? fields.map(String) : [];
    const chosen = new Map<string, Map<string, Partial<Quotas>>>();
    for (let i = 0; i + 1 < flat.length; i += 2) {
      const [pool = '', namespace = '', name = ''] = (flat[i] ?? '').split('/');
      const quota = QUOTA_NAMES.find((one) => one === name);
      if (quota === undefined) continue;
      const ofPool = chosen.get(pool) ?? new Map<string, Partial<Quotas>>();
      ofPool.set(namespace, { ...ofPool.get(namespace), [QUOTA_FIELDS[quota]]: Number(flat[i + 1]) });
      chosen.set(pool, ofPool);
    }
    return chosen;
  }

  /** Sets all of them or none, also in a full Redis. @param values null: the default again */
  async set(
    { pool, namespace }: Tenant,
    values: Readonly<Partial<Record<QuotaName, number | null>>>,
  ): Promise<void> {
    const items = Object.entries(values).map(([name, value]): Item => [
      `${pool}/${namespace}/${name}`,
      value ?? '',
    ]);
    await this.redis.run(quotasSet, { quotas: this.key }, {}, items);
  }
}
