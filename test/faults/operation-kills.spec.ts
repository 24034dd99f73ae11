import { jest } from '@jest/globals';
import { Redis } from 'ioredis';
import type { Action, OperationDetails } from '../../src/contract/operations.js';
import type { JobDetails } from '../../src/contract/job/extended-job.js';
import type { NewOperation } from '../../src/engine/operations/operations.js';
import { PoolEngine } from '../../src/engine/pool-engine.js';
import { RedisPool } from '../../src/redis/pool.js';
import { Audit } from '../engine/audit.js';
import { edgeProblems } from '../engine/edge-audit.js';
import { silentLog, testPoolOptions } from '../engine/fixture.js';
import { auditIndexes } from '../engine/index-audit.js';
import { randomNamespace, startRedis, type RedisProcess } from '../support/redis.js';
import { SLOWNESS } from '../support/scale.js';
import { StepProxy, type DeathPoint } from '../support/step-proxy.js';

/** More than two steps of every action. */
const JOBS = 110;
const TTR_MS = 5_000;
/** Longer than an operation waits for the server that did its last step. */
const TAKEOVER_MS = 5_100;
const MOST_AT_ONCE = 55;
const SHOWN = { filter: { state: [] }, to: null, set: null };
jest.setTimeout(240_000 * SLOWNESS);

type Started = Omit<NewOperation, 'shown' | 'filter' | 'action'>;

/** An action, the jobs that it acts on, and what one job that it acted on shows in its timeline. */
interface Acting {
  readonly action: Action;
  readonly more?: Started;
  /** The jobs have failed: they are dead, or wait for their next attempt. */
  readonly fails?: 'dead' | 'waiting';
  /** The entry of the timeline; left out: the job is gone. */
  readonly what?: string;
}

const ACTIONS: readonly Acting[] = [
  { action: 'cancel', what: 'cancelled' },
  { action: 'delete' },
  { action: 'respawn', fails: 'dead', what: 'respawned' },
  { action: 'retry', fails: 'waiting', what: 'changed' },
  { action: 'move', more: { to: 'aside' }, what: 'changed' },
  { action: 'patch', more: { change: { priority: 3, tags: ['late'] } }, what: 'changed' },
];

/** What the server is doing when it dies. */
interface Task {
  readonly name: string;
  /** The operation runs before, and another server has done a step of it. */
  readonly isStarted: boolean;
  readonly run: (server: PoolEngine, world: World) => Promise<unknown>;
  /** The client's call after the death, when another server answers. */
  readonly again: (world: World) => Promise<unknown>;
  readonly end: OperationDetails['state'];
}

const TASKS: readonly Task[] = [
  {
    name: 'the start and all steps',
    isStarted: false,
    run: async (server, world) => {
      await world.start(server);
      world.nowMs += 1;
      await server.components.operationRunner.runNow();
    },
    again: (world) => world.start(world.witness),
    end: 'done',
  },
  {
    name: 'the takeover from another server, and its steps',
    isStarted: true,
    run: async (server, world) => {
      world.nowMs += TAKEOVER_MS;
      await world.goOn(server);
    },
    again: () => Promise.resolve(),
    end: 'done',
  },
  {
    name: 'a stop',
    isStarted: true,
    run: (server, world) => world.stop(server),
    again: (world) => world.stop(world.witness),
    end: 'stopped',
  },
];

/** A namespace with jobs, the server that dies in it, and another one that goes on. */
class World {
  readonly ns = randomNamespace('operating');
  nowMs = Date.now();
  readonly ids: string[] = [];
  readonly witness: PoolEngine;

  constructor(
    pool: RedisPool,
    private readonly acting: Acting,
  ) {
    this.witness = this.engine(pool);
  }

  engine(pool: RedisPool): PoolEngine {
    return new PoolEngine(pool, { clock: () => this.nowMs });
  }

  async seed(isStarted: boolean): Promise<void> {
    const { fails } = this.acting;
    const job = {
      ...{ queue: 'q', type: 't', body: Buffer.from('x'), retentionMs: 3_600_000 },
      ...{ tries: fails === 'dead' ? 1 : 3, retry: { kind: 'fixed', delayMs: 3_600_000 } as const },
    };
    const publish = (count: number, type: string) =>
      this.witness.jobs.publish(
        this.ns,
        Array.from({ length: count }, () => ({ ...job, type })),
      );
    for (let i = 0; i < JOBS; i += MOST_AT_ONCE)
      this.ids.push(...(await publish(MOST_AT_ONCE, 't')).map(({ id }) => id));
    if (fails !== undefined) await this.fail();
    // It does not match.
    await publish(1, 'other');
    this.nowMs += 1_000;
    if (isStarted) {
      await this.start(this.witness);
      this.nowMs += 1;
      await this.witness.components.operationRunner.runNow();
      expect((await this.details()).done).toBeGreaterThan(0);
    }
  }

  private async fail(): Promise<void> {
    for (;;) {
      const request = { queues: ['q'], count: MOST_AT_ONCE, ttrMs: TTR_MS, waitMs: 0 };
      const jobs = await this.witness.lease(this.ns, request);
      for (const { id, lease } of jobs)
        await this.witness.settle.retry(this.ns, { id, lease, group: 'g', message: 'm' });
      if (jobs.length === 0) return;
    }
  }

  /** With a rate if another server is to go on: so its step is one of many. */
  async start(server: PoolEngine): Promise<void> {
    const { action, more } = this.acting;
    await server.operations.start(this.ns, {
      ...{ action, filter: { type: 't' }, shown: SHOWN, graceMs: 0, idempotencyKey: 'once' },
      ...more,
      ratePerS: 400,
    });
  }

  /** Takes over what no server goes on with, and does the steps until the operation has ended. */
  async goOn(server: PoolEngine): Promise<void> {
    await server.pumpNow(this.ns);
    for (let steps = 1; steps > 0 || (await this.isRunning());) {
      steps = await server.components.operationRunner.runNow();
      this.nowMs += 200;
      if (steps === 0) await server.pumpNow(this.ns);
    }
  }

  private async isRunning(): Promise<boolean> {
    const all = await this.witness.operations.list(this.ns);
    return all.some(({ details: { state } }) => state === 'running');
  }

  async stop(server: PoolEngine): Promise<void> {
    await server.operations.stop(this.ns, (await this.details()).id);
  }

  /** The one operation of the namespace. */
  async details(): Promise<OperationDetails> {
    const all = await this.witness.operations.list(this.ns);
    expect(all).toHaveLength(1);
    return all[0]!.details;
  }

  /** How often each job was acted on. */
  async acts(): Promise<number[]> {
    const { what } = this.acting;
    const jobs = await Promise.all(this.ids.map((id) => this.witness.jobs.find(this.ns, id)));
    return jobs.map((job) => (what === undefined ? Number(job === null) : timesOf(job, what)));
  }
}

function timesOf(job: JobDetails | null, what: string): number {
  return job?.timeline.filter((entry) => entry.what === what).length ?? 0;
}

describe('an operation whose server dies at any command', () => {
  let redis: RedisProcess;
  let client: Redis;
  let pool: RedisPool;
  let deaths = 0;
  beforeAll(async () => {
    redis = await startRedis();
    client = new Redis(redis.port, '127.0.0.1', { protocol: 2 });
    pool = await RedisPool.connect('default', testPoolOptions({ url: redis.url }), silentLog);
  });
  afterAll(async () => {
    console.log(`${String(deaths)} deaths`);
    await pool.close();
    client.disconnect();
    await redis.stop();
  });

  const audit = async ({ ns }: World): Promise<string[]> => [
    ...(await Audit.of(client, ns)),
    ...(await auditIndexes(client, ns)),
  ];

  /** @returns the commands that the server sent */
  async function play(acting: Acting, task: Task, command: number, when: DeathPoint): Promise<number> {
    const world = new World(pool, acting);
    await world.seed(task.isStarted);
    const proxy = await StepProxy.start(redis.port);
    const own = await RedisPool.connect('default', testPoolOptions({ url: proxy.url }), silentLog);
    const server = world.engine(own);
    const death = proxy.dieAt(command, when).then(() => ++deaths);
    const finished = task.run(server, world).catch(() => undefined);
    await Promise.race([death, finished]);
    expect(await audit(world)).toEqual([]);
    await own.close();
    await Promise.all([finished, server.stop()]);
    await proxy.stop();

    world.nowMs += TAKEOVER_MS;
    await task.again(world);
    world.nowMs += 1;
    await world.goOn(world.witness);
    await expectWhole(world, task);
    await world.witness.stop();
    return proxy.seen;
  }

  async function expectWhole(world: World, { end }: Task): Promise<void> {
    const { state, matched, done, failed, skipped } = await world.details();
    const acts = await world.acts();
    const acted = acts.filter((count) => count === 1).length;
    expect(acts.filter((count) => count > 1)).toEqual([]);
    expect({ state, matched, done, failed, skipped }).toEqual({
      ...{ state: end, matched: acted, done: acted, failed: 0, skipped: 0 },
    });
    if (end === 'done') expect(acted).toBe(JOBS);
    expect(await audit(world)).toEqual([]);
    await world.witness.pumpNow(world.ns);
    expect(await edgeProblems(client, world.ns)).toEqual([]);
  }

  const CASES = ACTIONS.flatMap((acting) => TASKS.map((task) => ({ acting, task, ...task })));
  it.each(CASES.map(({ acting, task }) => [acting.action, task.name, acting, task] as const))(
    'acts on each job once, and counts right: %s, %s',
    async (_action, _name, acting, task) => {
      const sent = await play(acting, task, Number.POSITIVE_INFINITY, 'before');
      expect(sent).toBeGreaterThan(0);
      for (let command = 0; command < sent; command++)
        for (const when of ['before', 'after'] as const) await play(acting, task, command, when);
    },
  );
});
