import { jest } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { randomFrom } from '../support/random.js';
import { waitFor } from '../support/redis.js';
import { ROUNDS, SEED, SLOWNESS } from '../support/scale.js';
import { KilledPair, type LeasedJob } from './killed-pair.js';

const KEYS = 8;
const JOBS_OF_KEY = 10 + 4 * ROUNDS;
const WORKERS = 12;
const KILLS = 2 + ROUNDS;
/** Leases of killed servers end soon. */
const TTR_MS = 1_000;
const LIMIT_MS = (90_000 + ROUNDS * 20_000) * SLOWNESS;
jest.setTimeout(2 * LIMIT_MS);

describe('a strict order while servers are killed', () => {
  const random = randomFrom(SEED);
  let pair: KilledPair;
  beforeAll(async () => {
    pair = await KilledPair.start('ordered', random);
  });
  afterAll(() => pair.stop());

  it(`lets no job of a key begin before the ones before it have ended, over ${KILLS} × kill -9`, async () => {
    /** Of each key the number of the first job for which no ack has been sent. An ack without an answer may have been done. */
    const first = new Map<string, number>();
    const acked = new Set<string>();
    const tooEarly: string[] = [];
    let attempts = 0;
    let [isOver, isEnding] = [false, false];
    await pair.untilAnswered('PATCH', 'queues/q', { order: 'strict' });

    const publish = async (key: string): Promise<void> => {
      for (let i = 0; i < JOBS_OF_KEY; i++) {
        await pair.untilAnswered('PUT', `jobs/${key}-${String(i)}`, {
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
      if (chance < 0.4) await pair.call('POST', `jobs/${id}/retry`, { lease, delay_ms });
      else if (chance < 0.55) await pair.call('POST', `jobs/${id}/release`, { lease, delay_ms });
      else if (chance < 0.65) await pair.call('POST', `jobs/${id}/revoke`);
      else {
        first.set(key, Math.max(first.get(key) ?? 0, Number(number) + 1));
        if ((await pair.call('POST', `jobs/${id}/ack`, { lease })) !== null) acked.add(id);
      }
    };
    const work = async (): Promise<void> => {
      while (!isOver) {
        const count = 1 + Math.floor(random() * 3);
        const jobs = await pair.lease({ queues: ['q'], count, ttr_ms: TTR_MS, wait_ms: 500 });
        for (const job of jobs) {
          attempts++;
          const [key = '', number = ''] = job.id.split('-');
          if (Number(number) > (first.get(key) ?? 0)) tooEarly.push(job.id);
        }
        await sleep(random() * 30);
        await Promise.all(jobs.map(end));
      }
    };

    const keys = Array.from({ length: KEYS }, (_none, i) => `k${String(i)}`);
    const publishers = keys.map(publish);
    const workers = Array.from({ length: WORKERS }, work);
    await pair.kill(KILLS);
    await Promise.all(publishers);
    isEnding = true;
    await waitFor(() => pair.isEmpty('q'), LIMIT_MS);
    isOver = true;
    await Promise.all(workers);

    console.log(
      `PUMPHOUSE_CHAOS_SEED=${String(SEED)}: ${String(attempts)} attempts, ${String(acked.size)} acks`,
    );
    expect(tooEarly).toEqual([]);
    expect([...first.values()]).toEqual(keys.map(() => JOBS_OF_KEY));
    expect(attempts).toBeGreaterThan(KEYS * JOBS_OF_KEY * 1.2);
    expect(await pair.audit()).toEqual([]);
  });
});
