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
import { StepProxy } from '../support/step-proxy.js';

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

  it('are undone over kill -9 of the server that does it: each job comes back once', async () => {
    const jobs = [...(await fill('live', false)), ...(await fill('dead', true))];
    await sleep(200);
    const filter = { state: ['ready', 'dead'] } as const;
    const id = await start({ action: 'delete', filter, undoMs: 3_600_000 });
    while ((await f.engine.components.operationRunner.runNow()) > 0) await sleep(2);
    expect(await find(id)).toMatchObject({ done: 2 * JOBS, undo: { state: 'kept', jobs: 2 * JOBS } });
    const undoOf = async (): Promise<OperationDetails['undo']> => (await find(id)).undo;
    await f.engine.operations.undo(f.ns, id);
    let deaths = 0;
    for (; (await undoOf())?.state === 'running' && deaths < 60; deaths++) {
      // It reads the record, and does up to three steps. It dies before one is sent, or before it hears that it is done.
      const proxy = await StepProxy.start(client.options.port!, {
        counts: (command) => command.includes(id),
      });
      const dying = await EngineFixture.open({}, { url: proxy.url, commandTimeoutMs: 5_000 });
      const { operationRunner } = dying.engine.components;
      const death = proxy.dieAt(1 + (deaths % 4), deaths % 2 === 0 ? 'before' : 'after');
      operationRunner.want(f.ns, id);
      const finished = operationRunner.runNow().catch(() => 0);
      await Promise.race([death, finished]);
      await Promise.all([finished, proxy.stop(), dying.close()]);
    }
    expect(deaths).toBeGreaterThan(5);
    f.engine.components.operationRunner.want(f.ns, id);
    while ((await f.engine.components.operationRunner.runNow()) > 0) await sleep(1);
    expect(await undoOf()).toMatchObject({ state: 'done', restored: 2 * JOBS, failed: 0 });
    const found = await Promise.all(jobs.map((one) => f.find(one)));
    expect(found.filter((job) => timesOf(job, 'restored') !== 1)).toEqual([]);
    expect(await f.counts('live')).toMatchObject({ ready: JOBS });
    expect(await f.counts('dead')).toMatchObject({ dead: JOBS });
    expect(await f.audit()).toEqual([]);
  });

  it('stop to be undone when Redis is full, and go on later', async () => {
    await fill('live', false);
    await sleep(200);
    const id = await start({ action: 'delete', filter: { queue: 'live' }, undoMs: 3_600_000 });
    const { operationRunner } = f.engine.components;
    while ((await operationRunner.runNow()) > 0) await sleep(2);
    await f.engine.operations.undo(f.ns, id);
    await client.config('SET', 'maxmemory', 1_000_000);
    await operationRunner.runNow();
    expect((await find(id)).undo).toMatchObject({ state: 'stopped', restored: 0, message: 'Redis is full.' });
    await client.config('SET', 'maxmemory', 0);
    await f.engine.operations.undo(f.ns, id);
    while ((await operationRunner.runNow()) > 0) await sleep(2);
    expect((await find(id)).undo).toMatchObject({ state: 'done', restored: JOBS });
  });

  it('cannot be undone when Redis is full, and what they keep goes then', async () => {
    await fill('live', false);
    await sleep(200);
    f.engine.start();
    const [id, slow] = [
      await start({
        action: 'delete',
        filter: { queue: 'live', type: 't' },
        undoMs: 3_600_000,
        ratePerS: 400,
      }),
      await start({ action: 'delete', filter: { queue: 'none' }, undoMs: 3_600_000 }),
    ];
    await waitFor(async () => (await find(slow)).state === 'done' && (await find(id)).done > 10);
    await client.config('SET', 'maxmemory', 1_000_000);
    await waitFor(async () => (await find(id)).state === 'stopped');
    expect(await find(id)).toMatchObject({ reason: 'store_full' });
    expect(['store_full', 'undo_gone']).toContain(
      await f.engine.operations.undo(f.ns, id).then(() => '', codeOf),
    );
    await expect(
      start({ action: 'delete', filter: { queue: 'live' }, undoMs: 3_600_000 }),
    ).rejects.toMatchObject({ code: 'store_full' });
    await waitFor(async () => (await find(id)).undo?.state === 'dropped', 30_000);
    expect(await f.engine.operations.undo(f.ns, id).then(() => '', codeOf)).toBe('undo_gone');
    expect((await client.keys('*')).filter((key) => /:(?:[UV]:|undoable$)/.test(key))).toEqual([]);
    await client.config('SET', 'maxmemory', 0);
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

function codeOf(error: unknown): unknown {
  return (error as { readonly code?: unknown }).code;
}

function timesOf(job: JobDetails | null, what: string): number {
  return job?.timeline.filter((entry) => entry.what === what).length ?? 0;
}
