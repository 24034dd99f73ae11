import { jest } from '@jest/globals';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { PoolEngine } from '../../src/engine/pool-engine.js';
import { RedisPool } from '../../src/redis/pool.js';
import { silentLog, testPoolOptions } from '../engine/fixture.js';
import { LmstfyStore } from '../support/lmstfy-store.js';
import { randomFrom } from '../support/random.js';
import { endWithUs } from '../support/redis-process.mjs';
import { randomNamespace, type RedisProcess, startRedis, waitFor } from '../support/redis.js';
import { ROUNDS, SEED, SLOWNESS } from '../support/scale.js';

const CLI = fileURLToPath(new URL('../../dist/cli/pumphouse.js', import.meta.url));
/** `npm run chaos` asks for 20. After each, the next import waits four seconds for the lock of the killed one. */
const KILLS = ROUNDS;
/** A lease of a lmstfy worker: longer than any of them works. */
const TTR_S = 6;
jest.setTimeout((120_000 + KILLS * 20_000) * SLOWNESS);

describe('an import that follows a lmstfy server', () => {
  const random = randomFrom(SEED);
  const ns = randomNamespace('import');
  let stores: RedisProcess[];
  let lmstfy: LmstfyStore;
  let pool: RedisPool;
  let engine: PoolEngine;
  let child: ChildProcess | undefined;

  beforeAll(async () => {
    stores = await Promise.all([startRedis(), startRedis()]);
    lmstfy = new LmstfyStore(stores[0]!.url);
    pool = await RedisPool.connect('default', testPoolOptions({ url: stores[1]!.url }), silentLog);
    engine = new PoolEngine(pool);
    engine.start();
  });
  afterAll(async () => {
    child?.kill('SIGKILL');
    await engine.stop();
    await pool.close();
    lmstfy.close();
    await Promise.all(stores.map((store) => store.stop()));
  });

  /** Runs the command as a process of its own. */
  function begin(...flags: string[]): ChildProcess {
    const [from, to] = stores.map(({ url }) => url) as [string, string];
    const args = [CLI, 'import-lmstfy', '--from', from, '--to', to, '--drain', '--yes', '--json', ...flags];
    child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
    endWithUs(child.pid ?? 0);
    return child;
  }

  /** One that follows, and is at work: it has the lock, and jobs have come. */
  async function following(arrived: () => number): Promise<ChildProcess> {
    const lock = (): Promise<string | null> => lmstfy.redis.get('pumphouse:import:lock');
    const last = await lock();
    const process = begin('--follow');
    await waitFor(async () => ![null, last].includes(await lock()), 30_000);
    const before = arrived();
    await waitFor(() => arrived() > before + 20, 30_000);
    return process;
  }

  /** Ends when it is told to, or by itself. @returns what it counted for the namespace */
  async function counted(process: ChildProcess): Promise<Record<string, number>> {
    let out = '';
    process.stdout?.on('data', (chunk: Buffer) => (out += chunk.toString()));
    const [code] = (await once(process, 'exit')) as [number | null];
    expect(code).toBe(0);
    return (JSON.parse(out) as { namespaces: Record<string, Record<string, number>> }).namespaces[ns] ?? {};
  }

  it(`loses and duplicates no job over ${KILLS} × kill -9, while lmstfy's clients go on`, async () => {
    const published: string[] = [];
    /** How often each was done, there and here. */
    const done = new Map<string, number>();
    const finish = (body: string): void => void done.set(body, (done.get(body) ?? 0) + 1);
    let [isServing, isOver, here] = [true, false, 0];

    const producer = async (): Promise<void> => {
      while (isServing) {
        const body = `job ${published.length}`;
        published.push(body);
        const delayS = random() < 0.3 ? 1 + Math.floor(random() * 3) : 0;
        await lmstfy.publish(ns, random() < 0.5 ? 'p' : 'q', {
          body,
          delayS,
          tries: 9,
          ttlS: random() < 0.5 ? 0 : 3_600,
        });
        await sleep(random() * 8);
      }
    };
    const oldWorker = async (): Promise<void> => {
      while (isServing) {
        const queue = random() < 0.5 ? 'p' : 'q';
        const job = await lmstfy.consume(ns, queue, TTR_S);
        await sleep(random() * 20);
        // Some forget their jobs.
        if (!job || random() < 0.1) continue;
        await lmstfy.ack(ns, queue, job.id);
        finish(job.body);
      }
    };
    const newWorker = async (): Promise<void> => {
      while (!isOver) {
        const jobs = await engine.lease(ns, { queues: ['p', 'q'], count: 5, ttrMs: 30_000, waitMs: 200 });
        for (const { id, queue, lease, body } of jobs) {
          await engine.ack(ns, queue, id, lease);
          here++;
          finish(body.toString());
        }
      }
    };
    const timer = setInterval(() => void lmstfy.pump(), 300);
    const old = Promise.all([producer(), producer(), oldWorker()]);
    const fresh = Promise.all([newWorker(), newWorker()]);

    for (let i = 0; i < KILLS; i++) {
      const process = await following(() => here);
      await sleep(random() * 200);
      const exit = once(process, 'exit');
      process.kill('SIGKILL');
      await exit;
    }
    const whole = await following(() => here);
    isServing = false;
    await old;
    clearInterval(timer);
    const end = counted(whole);
    whole.kill('SIGTERM');
    await end;
    const last = await counted(begin('--lmstfy-stopped'));

    expect(last['left']).toBe(0);
    await waitFor(() => published.every((body) => done.has(body)), 30_000).catch(() => undefined);
    isOver = true;
    await fresh;
    console.log(
      `seed ${SEED}: ${published.length} published, ${here} done here, ${published.length - here} at lmstfy; ${KILLS} kills`,
    );
    expect(published.filter((body) => !done.has(body))).toEqual([]);
    expect([...done].filter(([, times]) => times !== 1)).toEqual([]);
    expect((await lmstfy.redis.keys('*')).filter((key) => !key.startsWith('m/'))).toEqual([]);
    expect(await engine.queues.counts(ns, ['p', 'q'])).toMatchObject([0, 1].map(() => ({ ready: 0, scheduled: 0, leased: 0, dead: 0 }))); // oxfmt-ignore
  });
});
