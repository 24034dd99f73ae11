import { jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { Audit } from '../engine/audit.js';
import { BuiltServer } from '../support/built-server.js';
import { randomFrom } from '../support/random.js';
import { startRedis, type RedisProcess, waitFor } from '../support/redis.js';
import { ROUNDS, SEED, SLOWNESS } from '../support/scale.js';

const NAMESPACE = 'ordered';
const KEYS = 8;
const JOBS_OF_KEY = 10 + 4 * ROUNDS;
const WORKERS = 12;
const KILLS = 2 + ROUNDS;
/** Leases of killed servers end soon. */
const TTR_MS = 1_000;
const LIMIT_MS = (90_000 + ROUNDS * 20_000) * SLOWNESS;
jest.setTimeout(2 * LIMIT_MS);

interface LeasedJob {
  readonly id: string;
  readonly lease: number;
}

describe('a strict order while servers are killed', () => {
  const random = randomFrom(SEED);
  let redis: RedisProcess;
  let servers: BuiltServer[];
  let token: string;
  beforeAll(async () => {
    redis = await startRedis();
    const env = { PUMPHOUSE_POOLS__DEFAULT__URL: redis.url };
    servers = [await BuiltServer.create(env), await BuiltServer.create(env)];
    await Promise.all(servers.map((server) => server.start()));
    token = await servers[0]!.token(NAMESPACE);
  });
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.remove()));
    await redis.stop();
  });

  /** A call of either server, which may not answer; null = it did not, or refused. */
  const call = async (method: string, path: string, body?: object): Promise<unknown> => {
    const { url } = servers[random() < 0.5 ? 0 : 1]!;
    const headers = { 'X-Token': token };
    const sent = fetch(`${url}/v1/${NAMESPACE}/${path}`, {
      ...{ method, headers, signal: AbortSignal.timeout(10_000) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const answer = await sent.catch(() => null);
    // A call that the API refuses is a mistake of this spec.
    if (answer?.status === 400) throw new Error(`${method} ${path}: ${await answer.text()}`);
    return answer?.ok === true ? answer.json().catch(() => null) : null;
  };
  const untilAnswered = async (method: string, path: string, body: object): Promise<void> => {
    while ((await call(method, path, body)) === null) await sleep(20);
  };

  it(`lets no job of a key begin before the ones before it have ended, over ${KILLS} × kill -9`, async () => {
    /** Of each key the number of the first job for which no ack has been sent. An ack without an answer may have been done. */
    const first = new Map<string, number>();
    const acked = new Set<string>();
    const tooEarly: string[] = [];
    let attempts = 0;
    let [isOver, isEnding] = [false, false];
    await untilAnswered('PATCH', 'queues/q', { order: 'strict' });

    const publish = async (key: string): Promise<void> => {
      for (let i = 0; i < JOBS_OF_KEY; i++) {
        await untilAnswered('PUT', `jobs/${key}-${String(i)}`, {
          ...{ queue: 'q', concurrency_key: key, tries: 60_000, retry: { kind: 'fixed', delay_ms: 50 } },
          ...{ priority: Math.floor(random() * 3), lease_grace_ms: random() < 0.5 ? 200 : 0 },
        });
        await sleep(random() * 20);
      }
    };
    const end = async ({ id, lease }: LeasedJob): Promise<void> => {
      const [key = '', number = ''] = id.split('-');
      // At the end all work is done.
      const chance = isEnding ? 1 : random();
      if (chance < 0.2) return; // The lease expires.
      const delay_ms = Math.floor(random() * 300);
      if (chance < 0.4) await call('POST', `jobs/${id}/retry`, { lease, delay_ms });
      else if (chance < 0.55) await call('POST', `jobs/${id}/release`, { lease, delay_ms });
      else if (chance < 0.65) await call('POST', `jobs/${id}/revoke`);
      else {
        first.set(key, Math.max(first.get(key) ?? 0, Number(number) + 1));
        if ((await call('POST', `jobs/${id}/ack`, { lease })) !== null) acked.add(id);
      }
    };
    const work = async (): Promise<void> => {
      while (!isOver) {
        const answer = await call('POST', 'leases', {
          ...{ queues: ['q'], count: 1 + Math.floor(random() * 3), ttr_ms: TTR_MS, wait_ms: 500 },
        });
        const { jobs } = (answer ?? { jobs: [] }) as { jobs: LeasedJob[] };
        for (const job of jobs) {
          attempts++;
          const [key = '', number = ''] = job.id.split('-');
          if (Number(number) > (first.get(key) ?? 0)) tooEarly.push(job.id);
        }
        await sleep(random() * 30);
        await Promise.all(jobs.map(end));
        if (answer === null) await sleep(20);
      }
    };

    const keys = Array.from({ length: KEYS }, (_none, i) => `k${String(i)}`);
    const publishers = keys.map(publish);
    const workers = Array.from({ length: WORKERS }, work);
    for (let i = 0; i < KILLS; i++) {
      await sleep(500 + random() * 1_000);
      await servers[i % 2]!.end('SIGKILL');
      await servers[i % 2]!.start();
    }
    await Promise.all(publishers);
    isEnding = true;
    const isEmpty = async (): Promise<boolean> => {
      const queue = (await call('GET', 'queues/q')) as { length: number } | null;
      return queue?.length === 0;
    };
    await waitFor(isEmpty, LIMIT_MS);
    isOver = true;
    await Promise.all(workers);

    console.log(
      `PUMPHOUSE_CHAOS_SEED=${String(SEED)}: ${String(attempts)} attempts, ${String(acked.size)} acks`,
    );
    expect(tooEarly).toEqual([]);
    expect([...first.values()]).toEqual(keys.map(() => JOBS_OF_KEY));
    expect(attempts).toBeGreaterThan(KEYS * JOBS_OF_KEY * 1.2);
    const store = new Redis(redis.url);
    try {
      expect(await Audit.of(store, NAMESPACE)).toEqual([]);
    } finally {
      store.disconnect();
    }
  });
});
