import { jest } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { OperationDetails } from '../../src/contract/operations.js';
import type { JobDetails } from '../../src/contract/job/extended-job.js';
import type { NewOperation } from '../../src/engine/operations/operations.js';
import { EngineFixture } from '../engine/fixture.js';
import { BuiltServer } from '../support/built-server.js';
import { waitFor } from '../support/redis.js';
import { ROUNDS, SLOWNESS } from '../support/scale.js';

const JOBS = 600;
const SHOWN = { filter: { state: [] }, to: null, set: null };
jest.setTimeout((120_000 + ROUNDS * 15_000) * SLOWNESS);

describe('operations on a Redis of their own', () => {
  let f: EngineFixture;
  let client: Redis;
  beforeEach(async () => ({ f, client } = await EngineFixture.alone()));
  afterEach(() => f.close());

  const start = async (operation: Omit<NewOperation, 'shown'>): Promise<string> =>
    (await f.engine.operations.start(f.ns, { shown: SHOWN, ...operation })).details.id;
  const find = async (id: string): Promise<OperationDetails> =>
    (await f.engine.operations.find(f.ns, id))!.details;

  /** Jobs with a history in a queue; with `dies` their only try has failed. */
  async function fill(queue: string, dies: boolean): Promise<string[]> {
    const ids: string[] = [];
    for (let i = 0; i < JOBS; i += 60) {
      const job = { queue, type: 't', body: Buffer.from('x'), tries: 1, retentionMs: 3_600_000 };
      const some = await f.engine.jobs.publish(
        f.ns,
        Array.from({ length: 60 }, () => job),
      );
      ids.push(...some.map(({ id }) => id));
      const leased = dies ? await f.lease(queue, { count: 60 }) : [];
      for (const { id, lease } of leased)
        await f.engine.settle.fail(f.ns, { id, lease, group: 'g', message: 'm' });
    }
    return ids;
  }

  it('act on each job once and miss none over kill -9 of the server that does their steps', async () => {
    const server = await BuiltServer.create({
      PUMPHOUSE_POOLS__DEFAULT__URL: `redis://127.0.0.1:${String(client.options.port)}`,
    });
    const jobs = { live: await fill('live', false), dead: await fill('dead', true) };
    await sleep(200);
    const [cancel, respawn] = [
      await start({ action: 'cancel', filter: { queue: 'live' }, ratePerS: 300 }),
      await start({ action: 'respawn', filter: { group: 'g' }, ratePerS: 300 }),
    ];
    const isDone = async (): Promise<boolean> =>
      (await find(cancel)).state === 'done' && (await find(respawn)).state === 'done';
    let kills = 0;
    for (; !(await isDone()) && kills < 4; kills++) {
      await server.start();
      await sleep(100 + Math.random() * 400);
      await server.end('SIGKILL');
    }
    expect(kills).toBeGreaterThan(1);
    await server.start();
    await waitFor(isDone, 60_000);
    await server.remove();
    for (const [id, ids, what] of [
      [cancel, jobs.live, 'cancelled'],
      [respawn, jobs.dead, 'respawned'],
    ] as const) {
      expect(await find(id)).toMatchObject({ matched: JOBS, done: JOBS, failed: 0, skipped: 0 });
      const found = await Promise.all(ids.map((one) => f.find(one)));
      const times = found.map((job) => timesOf(job, what));
      expect(times.filter((count) => count !== 1)).toEqual([]);
    }
  });

  it('stop when Redis is full, but for deletions', async () => {
    await fill('live', false);
    await sleep(200);
    f.engine.start();
    const [move, remove] = [
      await start({ action: 'move', filter: { queue: 'live' }, to: 'elsewhere', ratePerS: 20 }),
      await start({ action: 'delete', filter: { queue: 'live' }, ratePerS: 1_000 }),
    ];
    await client.config('SET', 'maxmemory', 1_000_000);
    await waitFor(async () => (await find(move)).state === 'stopped', 30_000);
    expect(await find(move)).toMatchObject({ reason: 'store_full' });
    await waitFor(async () => (await find(remove)).state === 'done', 30_000);
    const { done } = await find(move);
    expect((await find(remove)).done).toBe(JOBS - done);
    await expect(start({ action: 'cancel', filter: {} })).rejects.toMatchObject({ code: 'store_full' });
  });
});

function timesOf(job: JobDetails | null, what: string): number {
  return job?.timeline.filter((entry) => entry.what === what).length ?? 0;
}
