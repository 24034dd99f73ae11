import { Redis } from 'ioredis';
import type { LeasedJob } from '../../src/domain/job/job.js';
import { PoolEngine } from '../../src/engine/pool-engine.js';
import { RedisPool } from '../../src/redis/pool.js';
import { Audit } from '../engine/audit.js';
import { newJob, silentLog, testPoolOptions } from '../engine/fixture.js';
import { randomNamespace, startRedis, type RedisProcess } from '../support/redis.js';
import { StepProxy, type DeathPoint } from '../support/step-proxy.js';

const STATES = ['', 'ready', 'scheduled', 'leased', 'dead'];
const TTR_MS = 5_000;
/** More than one script step of a respawn or a destroy. */
const MANY = 700;

/** What a server is doing when it dies. */
interface Operation {
  readonly name: string;
  /** Made by another server before. */
  readonly seed?: (world: World) => Promise<unknown>;
  readonly run: (server: PoolEngine, world: World) => Promise<unknown>;
  /** Many scripts one after the other: a job may be in its old state or in its new one, each for itself. */
  readonly isStepwise?: boolean;
}

const OPERATIONS: readonly Operation[] = [
  { name: 'publish', run: (server, { ns }) => server.publish(ns, 'q', newJob({ tries: 2 })) },
  {
    name: 'publish into a new namespace',
    run: (server, { ns }) => server.publish(`${ns}-new`, 'q', newJob()),
  },
  {
    name: 'publish with a delay',
    run: (server, { ns }) => server.publish(ns, 'q', newJob({ delayMs: 7_200_000, attributes: { a: 'b' } })),
  },
  {
    name: 'publish to a Redis that has forgotten its scripts',
    seed: ({ redis }) => redis.script('FLUSH'),
    run: (server, { ns }) => server.publish(ns, 'q', newJob()),
  },
  {
    name: 'bulk publish',
    run: (server, { ns }) =>
      server.publishMany(
        ns,
        'new',
        Array.from({ length: 64 }, () => newJob()),
      ),
  },
  {
    name: 'republish',
    seed: (world) => world.publish(1),
    run: (server, { ns, ids }) => server.republish(ns, 'q', ids[0]!, newJob({ tries: 3 })),
  },
  {
    name: 'consume, to the end of its answer',
    seed: (world) => world.publish(70),
    run: async (server, { ns }) => {
      const request = { queues: ['empty', 'q'], count: 66, ttrMs: TTR_MS, waitMs: 0, confirms: true };
      const [job] = await server.lease(ns, request);
      job?.receipt?.arrived();
      await server.stop();
    },
  },
  { name: 'ack', seed: (world) => world.lease(1), run: (server, world) => world.ack(server) },
  {
    name: 'batch ack',
    seed: (world) => world.lease(100),
    run: (server, { ns, leased }) =>
      server.ackMany(
        ns,
        leased.map(({ id, lease }) => ({ queue: 'q', id, lease })),
      ),
  },
  {
    name: 'give back',
    seed: (world) => world.lease(5),
    run: (server, { ns, leased }) => server.undo(ns, leased),
  },
  {
    name: 'move what is due',
    seed: async (world) => {
      await world.lease(5, 1);
      await world.lease(5, 2);
      await world.publish(5, { delayMs: TTR_MS });
      world.nowMs += TTR_MS;
    },
    run: (server, { ns }) => server.pumpNow(ns),
  },
  {
    name: 'respawn',
    seed: (world) => world.kill(MANY),
    run: (server, { ns }) => server.deadLetter.respawn(ns, 'q', MANY, 0),
    isStepwise: true,
  },
  {
    name: 'delete dead',
    seed: (world) => world.kill(MANY),
    run: (server, { ns }) => server.deadLetter.delete(ns, 'q', MANY),
    isStepwise: true,
  },
  {
    name: 'destroy',
    seed: (world) => world.publish(MANY),
    run: (server, { ns }) => server.queues.destroy(ns, 'q'),
    isStepwise: true,
  },
  {
    name: 'forget what is empty',
    seed: (world) => world.publish(2).then(() => world.witness.queues.destroy(world.ns, 'q')),
    run: (server, { ns }) => server.tidyNow(ns),
  },
];

/** A namespace, the server that dies in it, and another one that goes on. */
class World {
  readonly ns = randomNamespace('points');
  nowMs = Date.now();
  readonly ids: string[] = [];
  readonly leased: LeasedJob[] = [];
  readonly witness: PoolEngine;

  constructor(
    pool: RedisPool,
    readonly redis: Redis,
  ) {
    this.witness = new PoolEngine(pool, { clock: () => this.nowMs });
  }

  async publish(count: number, job = {}): Promise<void> {
    for (let left = count; left > 0; left -= 64) {
      const jobs = Array.from({ length: Math.min(left, 64) }, () => newJob({ tries: 2, ...job }));
      this.ids.push(...(await this.witness.publishMany(this.ns, 'q', jobs)));
    }
  }

  async lease(count: number, tries = 2): Promise<void> {
    await this.publish(count, { tries });
    for (let left = count; left > 0; left -= 100) {
      const request = { queues: ['q'], count: Math.min(left, 100), ttrMs: TTR_MS, waitMs: 0 };
      this.leased.push(...(await this.witness.lease(this.ns, request)));
    }
  }

  async kill(count: number): Promise<void> {
    await this.lease(count, 1);
    this.nowMs += TTR_MS;
    await this.witness.pumpNow(this.ns);
  }

  ack(server: PoolEngine): Promise<boolean> {
    const [job] = this.leased;
    return server.ack(this.ns, 'q', job!.id, job!.lease);
  }

  /** How many jobs there are of each kind: state, tries, attempts, lease. As the raw headers tell it. */
  async state(): Promise<Record<string, number>> {
    const counts: Record<string, number> = {};
    for (const ns of [this.ns, `${this.ns}-new`]) {
      for (const key of await this.redis.keysBuffer(`{${ns}}j*`)) {
        const header = (await this.redis.getBuffer(key))!;
        const [tries, attempts] = [header.readUInt16BE(4), header.readUInt16BE(6)];
        const kind = `${STATES[header[1]!]} ${tries} ${attempts} ${header.readUInt32BE(8)}`;
        counts[kind] = (counts[kind] ?? 0) + 1;
      }
    }
    return counts;
  }
}

describe('T2: a server that dies at a fail point', () => {
  let redis: RedisProcess;
  let client: Redis;
  let pool: RedisPool;
  beforeAll(async () => {
    redis = await startRedis();
    client = new Redis(redis.port, '127.0.0.1', { protocol: 2 });
    pool = await RedisPool.connect('default', testPoolOptions({ url: redis.url }), silentLog);
  });
  afterAll(async () => {
    await pool.close();
    client.disconnect();
    await redis.stop();
  });

  /** Plays an operation with a server that dies at a point. Returns the states before and after, and how many commands it sent. */
  async function play(
    { seed, run }: Operation,
    command: number,
    when: DeathPoint,
  ): Promise<{ before: object; after: object; sent: number }> {
    const world = new World(pool, client);
    await world.publish(2, { tries: 9 });
    await world.witness.lease(world.ns, { queues: ['q'], count: 2, ttrMs: 3_600_000, waitMs: 0 });
    await seed?.(world);
    const before = await world.state();
    const proxy = await StepProxy.start(redis.port);
    const options = testPoolOptions({ url: proxy.url, commandTimeoutMs: 5_000 });
    const own = await RedisPool.connect('default', options, silentLog);
    const server = new PoolEngine(own, { clock: () => world.nowMs });
    const death = proxy.dieAt(command, when);
    const finished = run(server, world).catch(() => undefined);
    await Promise.race([death, finished]);
    const after = await world.state();

    expect(await Audit.of(client, world.ns)).toEqual([]);
    await own.close();
    await Promise.all([finished, server.stop()]);
    // Not one byte of it comes after its death.
    expect(await world.state()).toEqual(after);
    await proxy.stop();
    await expectToGoOn(world);
    return { before, after, sent: proxy.seen };
  }

  /** Another server takes what is ready, and each job once. */
  async function expectToGoOn({ witness, ns }: World): Promise<void> {
    await witness.publish(ns, 'q', newJob());
    const ready = await witness.queues.size(ns, 'q');
    const request = { queues: ['q'], count: 100, ttrMs: TTR_MS, waitMs: 0 };
    const ids: string[] = [];
    for (let jobs = await witness.lease(ns, request); jobs.length > 0;) {
      ids.push(...jobs.map(({ id }) => id));
      jobs = await witness.lease(ns, request);
    }
    expect(ids).toHaveLength(ready);
    expect(new Set(ids).size).toBe(ready);
    expect(await Audit.of(client, ns)).toEqual([]);
    await witness.stop();
  }

  it.each(OPERATIONS)('loses nothing if it dies within: $name', async (operation) => {
    const whole = await play(operation, Number.POSITIVE_INFINITY, 'before');
    expect(whole.sent).toBeGreaterThan(0);
    let last: object = whole.before;
    for (let command = 0; command < whole.sent; command++) {
      const unsent = await play(operation, command, 'before');
      const unread = await play(operation, command, 'after');
      // What was not sent has not happened: it is as after the command before. What has run has all happened.
      expect(unsent.after).toEqual(last);
      last = unread.after;
      if (operation.isStepwise !== true) expect([whole.before, whole.after]).toContainEqual(last);
    }
    expect(last).toEqual(whole.after);
  });
});
