import { jest } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { randomFrom } from '../support/random.js';
import { waitFor } from '../support/redis.js';
import { ROUNDS, SEED, SLOWNESS } from '../support/scale.js';
import { KilledPair, type LeasedJob } from './killed-pair.js';

const KEYS = ['a', 'b', 'c', 'd', 'e', 'f'];
const WORKERS = 8;
const KILLS = 1 + ROUNDS;
/** Leases of killed servers end soon. */
const TTR_MS = 1_000;
const LIMIT_MS = (90_000 + ROUNDS * 20_000) * SLOWNESS;
jest.setTimeout(2 * LIMIT_MS);

describe('a fair queue while servers are killed', () => {
  const random = randomFrom(SEED);
  let pair: KilledPair;
  beforeAll(async () => {
    pair = await KilledPair.start('tenants', random);
  });
  afterAll(async () => {
    console.log(`PUMPHOUSE_CHAOS_SEED=${String(SEED)}`);
    await pair.stop();
  });

  /** One key after the other: in the order of publishing, the last key would be served last. */
  const publish = async (queue: string, jobsOfKey: number, fieldsOf = () => ({})): Promise<void> => {
    for (const key of KEYS)
      for (let i = 0; i < jobsOfKey; i++)
        await pair.untilAnswered('PUT', `jobs/${queue}-${key}-${String(i)}`, {
          ...{ queue, fair_key: key, tries: 60_000, ...fieldsOf() },
        });
  };
  const ack = ({ id, lease }: LeasedJob): Promise<unknown> => pair.call('POST', `jobs/${id}/ack`, { lease });

  it(`gives keys with a backlog equal shares, over ${KILLS} × kill -9`, async () => {
    const jobsOfKey = 40 * KILLS;
    await pair.untilAnswered('PATCH', 'queues/equal', { fair: true });
    await publish('equal', jobsOfKey);
    const grants = new Map(KEYS.map((key) => [key, 0]));
    let isOver = false;
    const work = async (): Promise<void> => {
      while (!isOver) {
        const jobs = await pair.lease({ queues: ['equal'], ttr_ms: TTR_MS });
        for (const { id } of jobs) {
          const key = id.split('-')[1]!;
          grants.set(key, grants.get(key)! + 1);
        }
        // Each key keeps a backlog.
        if (Math.max(...grants.values()) >= jobsOfKey - WORKERS) isOver = true;
        await Promise.all(jobs.map(ack));
        await sleep(KILLS * 20 * random());
      }
    };
    const workers = Array.from({ length: WORKERS }, work);
    await pair.kill(KILLS);
    await waitFor(() => Promise.resolve(isOver), LIMIT_MS);
    await Promise.all(workers);

    // The answer of a killed server does not arrive, and those leases may all be of one key.
    const unseen = WORKERS * KILLS;
    const counts = [...grants.values()];
    expect(Math.max(...counts) - Math.min(...counts)).toBeLessThanOrEqual(1 + unseen);
    expect(await pair.audit()).toEqual([]);
  });

  it(`loses no job while the setting changes, keys are paused and jobs fail, over ${KILLS} × kill -9`, async () => {
    const jobsOfKey = 30 * KILLS;
    const acked = new Set<string>();
    let [isOver, isEnding] = [false, false];
    await pair.untilAnswered('PATCH', 'queues/q', { fair: true });

    const end = async (job: LeasedJob): Promise<void> => {
      const { id, lease } = job;
      const chance = isEnding ? 1 : random();
      if (chance < 0.15) return; // The lease expires.
      const delay_ms = Math.floor(random() * 300);
      if (chance < 0.3) await pair.call('POST', `jobs/${id}/retry`, { lease, delay_ms });
      else if (chance < 0.4) await pair.call('POST', `jobs/${id}/release`, { lease, delay_ms });
      else if (chance < 0.5) await pair.call('PATCH', `jobs/${id}`, { priority: Math.floor(random() * 3) });
      else {
        // One without an answer may have been done.
        acked.add(id);
        await ack(job);
      }
    };
    const typesOf = (): object => {
      const chance = random();
      return chance < 0.4 ? {} : { types: chance < 0.7 ? ['mail', null] : ['sms'] };
    };
    const work = async (): Promise<void> => {
      while (!isOver) {
        const count = 1 + Math.floor(random() * 4);
        const jobs = await pair.lease({ queues: ['q'], count, ttr_ms: TTR_MS, wait_ms: 200, ...typesOf() });
        await Promise.all(jobs.map(end));
        await sleep(random() * 30);
      }
    };
    const change = async (): Promise<void> => {
      while (!isEnding) {
        const fair = [true, false, { weights: { a: 5, f: 2 } }][Math.floor(random() * 3)];
        await pair.call('PATCH', 'queues/q', { fair });
        const jobs = random() < 0.5 ? { type: 'sms' } : { concurrency_key: 'shared' };
        await pair.untilAnswered('POST', 'queues/q/pause', { ...jobs, for_ms: 2_000 });
        await sleep(random() * 200);
        if (random() < 0.5) await pair.untilAnswered('POST', 'queues/q/resume', jobs);
        await sleep(random() * 200);
      }
    };

    const publishing = publish('q', jobsOfKey, () => ({
      ...(random() < 0.6 ? { type: random() < 0.5 ? 'mail' : 'sms' } : {}),
      ...(random() < 0.2 ? { concurrency_key: 'shared' } : {}),
      ...{ priority: Math.floor(random() * 2), delay_ms: random() < 0.2 ? 300 : 0 },
    }));
    const workers = Array.from({ length: WORKERS }, work);
    const changes = change();
    await pair.kill(KILLS);
    await publishing;
    isEnding = true;
    await changes;
    await waitFor(() => pair.isEmpty('q'), LIMIT_MS);
    isOver = true;
    await Promise.all(workers);

    expect(acked.size).toBe(KEYS.length * jobsOfKey);
    expect(await pair.audit()).toEqual([]);
  });
});
