import type { Redis } from 'ioredis';
import { type Answer, TestApp } from '../support/app.js';
import { randomNamespace } from '../support/redis.js';
import { Audit } from '../engine/audit.js';

const QUOTA = 10_000;
const QUEUES = 2;
const JOBS = 20;
const WORKERS = 5;
const KEYS = 100;
/**
 * What docs/how-to/tenants.md adds up to for these quotas: the bytes, and Redis's overhead of them; 40 jobs with 512 bytes
 * that do not count, with their indexes; 5 sessions; 100 keys.
 */
const BOUND = 3 * QUOTA + QUEUES * JOBS * 1_500 + WORKERS * 22_000 + KEYS * 190;

interface Lease {
  readonly id: string;
  readonly lease: number;
}

/** A tenant that stores as much as it can, with a token for publish and consume. */
class Tenant {
  private count = 0;

  constructor(
    private readonly app: TestApp,
    readonly namespace: string,
    private readonly token: string,
  ) {}

  static async of(app: TestApp): Promise<Tenant> {
    const namespace = randomNamespace('hostile');
    const made = await app.admin('POST', `/token/${namespace}?description=d&verbs=publish,consume`);
    return new Tenant(app, namespace, (made.json as { token: string }).token);
  }

  /** Another one each time. */
  next(): string {
    return `n${String(++this.count)}`;
  }

  /** Each time longer than before. */
  longer(): string {
    return this.next().padEnd(this.count * 400, 'x');
  }

  call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> {
    return this.app.call(method, `/v1/${this.namespace}/${path}`, {
      token: this.token,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  }

  wire(method: string, path: string, body: string, headers: Record<string, string>): Promise<Answer> {
    return this.app.call(method, `/api/${this.namespace}/${path}`, { token: this.token, headers, body });
  }

  async publish(more: object = {}): Promise<string> {
    const { json } = await this.call('POST', 'jobs', { queue: 'q', data: 1, ...more });
    return (json as { id?: string }).id ?? '';
  }

  async lease(more: object = {}): Promise<Lease> {
    const { json } = await this.call('POST', 'leases', { queues: ['q'], ttr_ms: 600_000, ...more });
    return (json as { jobs: Lease[] }).jobs[0] ?? { id: 'none', lease: 1 };
  }

  /** Takes jobs and gives them new leases, so that each attack reaches several. */
  async leases(count: number): Promise<Lease[]> {
    const leases: Lease[] = [];
    for (let i = 0; i < count; i++) {
      await this.publish({ retention_ms: 600_000 });
      leases.push(await this.lease());
    }
    return leases;
  }
}

const LONG = 'x'.repeat(16_000);
const LOG_LINE = { message: 'm', data: 'x'.repeat(4_000) };

/** Each sends far more than the bound. Returns the answers. */
const ATTACKS: Readonly<Record<string, (tenant: Tenant, times: (one: Attempt) => Attempts) => Attempts>> = {
  payloads: (_t, times) => times((t) => t.call('POST', 'jobs', { queue: 'q', data: t.longer() })),
  'payloads of lmstfy': (_t, times) => times((t) => t.wire('PUT', 'q', t.longer(), {})),
  'jobs without payload': (_t, times) => times((t) => t.wire('PUT', 'q', '', {})),
  queues: (_t, times) => times((t) => t.wire('PUT', t.next().repeat(40), '', {})),
  tags: (_t, times) =>
    times((t) =>
      t.call('POST', 'jobs', {
        queue: 'q',
        data: 1,
        tags: Array.from({ length: 32 }, () => t.next().padEnd(250, 'x')),
      }),
    ),
  'tags of a stored job': async (tenant, times) => {
    const id = await tenant.publish();
    return times((t) => t.call('POST', `jobs/${id}/tags`, { tags: [t.next().padEnd(250, 'x')] }));
  },
  'types and attributes': (_t, times) =>
    times((t) =>
      t.call('POST', 'jobs', {
        ...{ queue: 'q', data: 1, type: t.next().padEnd(250, 'x') },
        attributes: Object.fromEntries(Array.from({ length: 16 }, () => [t.next(), 'x'.repeat(128)])),
      }),
    ),
  'retry policies': (_t, times) =>
    times((t) =>
      t.call('POST', 'jobs', {
        ...{ queue: 'q', data: 1 },
        retry: {
          ...{ kind: 'fixed', delay_ms: 1 },
          non_retryable: Array.from({ length: 32 }, () => t.next().padEnd(120, 'x')),
        },
      }),
    ),
  'log entries': async (tenant, times) => {
    const ids = [await tenant.publish(), await tenant.publish(), await tenant.publish()];
    return times((t) => t.call('POST', `jobs/${ids[t.next().length % 3]!}/log`, LOG_LINE));
  },
  progress: async (tenant, times) => {
    const leases = await tenant.leases(20);
    return times((t, i) => {
      const { id, lease } = leases[i % leases.length]!;
      return t.call('POST', `jobs/${id}/heartbeat`, { lease, progress: LONG });
    });
  },
  'data of heartbeats': async (tenant, times) => {
    const leases = await tenant.leases(20);
    return times((t, i) => {
      const { id, lease } = leases[i % leases.length]!;
      return t.call('POST', `jobs/${id}/heartbeat`, { lease, data: t.longer() });
    });
  },
  results: async (tenant, times) => {
    const leases = await tenant.leases(20);
    return times((t, i) => {
      const { id, lease } = leases[i] ?? leases[0]!;
      return t.call('POST', `jobs/${id}/ack`, { lease, result: LONG + LONG + LONG });
    });
  },
  failures: async (tenant, times) => {
    const leases = await tenant.leases(20);
    return times((t, i) => {
      const { id, lease } = leases[i] ?? leases[0]!;
      return t.call('POST', `jobs/${id}/fail`, { lease, group: 'g', message: LONG });
    });
  },
  'failures again and again': async (tenant, times) => {
    await tenant.publish({ tries: 1_000 });
    return times(async (t) => {
      const { id, lease } = await t.lease();
      return t.call('POST', `jobs/${id}/retry`, { lease, group: t.next(), message: LONG, delay_ms: 0 });
    });
  },
  'new data': async (tenant, times) => {
    const id = await tenant.publish();
    return times((t) => t.call('PATCH', `jobs/${id}`, { data: t.longer() }));
  },
  'recurring jobs': (_t, times) =>
    times((t) =>
      t.call('PUT', `recurring/${t.next()}`, {
        schedule: { every_ms: 3_600_000, offset_ms: 3_600_000 },
        job: { queue: 'q', data: 'x'.repeat(1_000) },
      }),
    ),
  'long recurring jobs': async (tenant, times) => {
    const schedule = { every_ms: 3_600_000, offset_ms: 3_600_000 };
    await tenant.call('PUT', 'recurring/one', { schedule, job: { queue: 'q', data: 1 } });
    return times((t) => t.call('PATCH', 'recurring/one', { job: { data: t.longer() } }));
  },
  sessions: (_t, times) =>
    times((t) => {
      const name = t.next();
      const queues = Array.from({ length: 64 }, () => t.next().padEnd(250, 'x'));
      return t.call('POST', `workers/${name}/heartbeat`, {
        ttr_ms: 600_000,
        leases: [],
        info: { name, queues },
      });
    }),
  'names of workers': async (tenant, times) => {
    await tenant.publish({ tries: 1_000 });
    return times(async (t) => {
      const { id, lease } = await t.lease({ worker: t.next().padEnd(250, 'x') });
      return t.call('POST', `jobs/${id}/release`, { lease });
    });
  },
  'idempotency keys': (_t, times) =>
    times(async (t) => {
      const answer = await t.call('POST', 'jobs', { queue: 'q', data: 1 }, { 'idempotency-key': t.next() });
      const { id, lease } = await t.lease();
      await t.call('POST', `jobs/${id}/ack`, { lease });
      return answer;
    }),
  'idempotency keys of lmstfy': (_t, times) =>
    times(async (t) => {
      const answer = await t.wire('PUT', 'q', '', { 'idempotency-key': t.next() });
      const { id, lease } = await t.lease();
      await t.call('POST', `jobs/${id}/ack`, { lease });
      return answer;
    }),
  'unique keys with a window': (_t, times) =>
    times(async (t) => {
      const unique = { key: t.next().padEnd(250, 'x'), mode: 'reject', window_ms: 600_000 };
      const answer = await t.call('POST', 'jobs', { queue: 'q', data: 1, unique });
      const { id, lease } = await t.lease();
      await t.call('POST', `jobs/${id}/ack`, { lease });
      return answer;
    }),
  'concurrency keys': (_t, times) =>
    times((t) => t.call('POST', 'jobs', { queue: 'q', data: 1, concurrency_key: t.next().padEnd(250, 'x') })),
  dependencies: async (tenant, times) => {
    const ids: string[] = [];
    for (let i = 0; i < 10; i++) ids.push(await tenant.publish());
    const unknown = Array.from({ length: 20 }, () => tenant.next().padEnd(120, 'x'));
    return times((t) => t.call('POST', 'jobs', { queue: 'q', data: 1, depends_on: [...ids, ...unknown] }));
  },
};

type Attempts = Promise<number>;
type Attempt = (tenant: Tenant, i: number) => Promise<Answer>;

describe('a hostile tenant with a quota of 10 KB', () => {
  let app: TestApp;
  let client: Redis;
  const ATTEMPTS = 150;

  beforeAll(async () => {
    ({ app, client } = await TestApp.alone({
      PUMPHOUSE_LIMITS__MAX_BYTES_PER_NAMESPACE: String(QUOTA),
      PUMPHOUSE_LIMITS__MAX_QUEUES_PER_NAMESPACE: String(QUEUES),
      PUMPHOUSE_LIMITS__MAX_JOBS_PER_QUEUE: String(JOBS),
      PUMPHOUSE_LIMITS__MAX_WORKERS_PER_NAMESPACE: String(WORKERS),
      PUMPHOUSE_LIMITS__MAX_KEYS_PER_NAMESPACE: String(KEYS),
    }));
  });
  afterAll(() => app.stop());

  async function usage(namespace: string): Promise<number> {
    const keys = await client.keysBuffer(`{${namespace}}*`);
    const sizes = await Promise.all(keys.map((key) => client.memory('USAGE', key, 'SAMPLES', 0)));
    return sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0);
  }

  it.each(Object.entries(ATTACKS))(
    'stores at most the bytes of docs/how-to/tenants.md by 150 calls with %s',
    async (_kind, attack) => {
      const tenant = await Tenant.of(app);
      const statuses = new Map<number, number>();
      const times = async (one: Attempt): Attempts => {
        for (let i = 0; i < ATTEMPTS; i++) {
          const { status } = await one(tenant, i);
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
        }
        return ATTEMPTS;
      };
      expect(await attack(tenant, times)).toBe(ATTEMPTS);
      const stored = await usage(tenant.namespace);
      if (process.env['SHOW_STORED']) console.log(_kind, stored, JSON.stringify([...statuses]));
      expect(stored).toBeLessThan(BOUND);
      // Each attack is one that the server carries out at first.
      expect([200, 201, 204].some((status) => statuses.has(status))).toBe(true);
      expect(await Audit.of(client, tenant.namespace)).toEqual([]);
    },
  );
});
