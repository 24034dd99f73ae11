import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import type { LeasedJob } from '../../src/domain/job/job.js';
import type { Log } from '../../src/domain/log.js';
import { Keys } from '../../src/redis/keys.js';
import { LeaseFloor } from '../../src/redis/lease-floor.js';
import { parseInfo } from '../../src/redis/parse-info.js';
import { RedisPool } from '../../src/redis/pool.js';
import type { Arg } from '../../src/redis/scripts/script.js';
import { EngineFixture, silentLog, testPoolOptions } from '../engine/fixture.js';
import { type ClusterNode, SlotMove, TestCluster } from '../support/cluster.js';
import { startRedis, waitFor, type RedisProcess } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';

/** A Redis whose writes are in its files at once, and that sends them to a replica at once. */
const ALWAYS = ['--appendfsync', 'always', '--repl-diskless-sync-delay', '0'];

/** Jobs of each kind, by queue: how they are published. */
const KINDS: Readonly<Record<string, (f: EngineFixture, queue: string) => Promise<unknown>>> = {
  lmstfy: (f, queue) => f.publish(queue, { tries: 9 }),
  simple: (f, queue) => f.engine.jobs.publish(f.ns, [{ queue, body: Buffer.from('x') }]),
  chosen: (f, queue) => f.engine.jobs.publish(f.ns, [{ queue, id: `id-${queue}`, body: Buffer.from('x') }]),
  extended: (f, queue) => f.put(queue, { type: 'mail' }),
  'extended-chosen': (f, queue) => f.put(queue, { type: 'mail', id: `id-${queue}` }),
};
const QUEUES = Object.keys(KINDS);

/** A store on files that a test copies and brings back. */
class Store {
  private constructor(
    private redis: RedisProcess,
    readonly f: EngineFixture,
  ) {}

  static async open(log = silentLog): Promise<Store> {
    const redis = await startRedis({ args: ALWAYS });
    const pool = await RedisPool.connect('default', testPoolOptions({ url: redis.url }), log);
    return new Store(redis, EngineFixture.over(pool));
  }

  /** Another server on the same namespace. */
  async connect(log = silentLog): Promise<EngineFixture> {
    const pool = await RedisPool.connect('default', testPoolOptions({ url: this.redis.url }), log);
    return Object.assign(EngineFixture.over(pool), { ns: this.f.ns });
  }

  get url(): string {
    return this.redis.url;
  }

  private get files(): string {
    return join(this.redis.dir, 'appendonlydir');
  }

  private get copy(): string {
    return join(this.redis.dir, 'copy');
  }

  backUp(): void {
    rmSync(this.copy, { recursive: true, force: true });
    cpSync(this.files, this.copy, { recursive: true });
  }

  /** Starts Redis again, from the copy if one is to be restored, perhaps without room for more; the servers stay. */
  async restart({ restores, isFull = false }: { restores: boolean; isFull?: boolean }): Promise<void> {
    const { port, dir } = this.redis;
    await this.redis.kill9();
    if (restores) {
      rmSync(this.files, { recursive: true });
      cpSync(this.copy, this.files, { recursive: true });
    }
    const stop = this.redis.stop.bind(this.redis);
    const args = isFull ? [...ALWAYS, '--maxmemory', '1'] : ALWAYS;
    this.redis = { ...(await startRedis({ args, port, dir })), stop };
    await waitFor(() => this.f.pool.status.up, 10_000);
  }

  async close(): Promise<void> {
    await this.f.close();
    await this.redis.kill9();
    rmSync(this.redis.dir, { recursive: true, force: true });
  }
}

const ackOf = ({ queue, id, lease }: LeasedJob) => ({ queue, id, lease });

async function leaseAll({ ns, engine }: Pick<EngineFixture, 'ns' | 'engine'>): Promise<LeasedJob[]> {
  const jobs: LeasedJob[] = [];
  for (const queue of QUEUES)
    jobs.push(...(await engine.lease(ns, { queues: [queue], count: 1, ttrMs: 60_000, waitMs: 0 })));
  return jobs;
}

describe('a Redis that is restored from an older file', () => {
  let store: Store;
  let f: EngineFixture;
  beforeEach(async () => {
    store = await Store.open();
    f = store.f;
    for (const queue of QUEUES) await KINDS[queue]!(f, queue);
  });
  afterEach(() => store.close());

  it('grants no lease number twice, to jobs of any kind', async () => {
    store.backUp();
    const lost = await leaseAll(f);
    await store.restart({ restores: true });
    const found = await leaseAll(f);
    expect(found.map(({ queue }) => queue)).toEqual(QUEUES);
    for (const [i, { lease }] of found.entries()) {
      expect(lease).toBeGreaterThan(lost[i]!.lease);
      expect(lease).toBeLessThan(2 ** 32);
    }
    expect(await f.engine.ackMany(f.ns, lost.map(ackOf))).toEqual(QUEUES.map(() => 'lease_lost'));
    expect(await f.engine.ackMany(f.ns, found.map(ackOf))).toEqual(QUEUES.map(() => 'acked'));
  });

  it('grants no lease number twice while it is full', async () => {
    store.backUp();
    const lost = await leaseAll(f);
    await store.restart({ restores: true, isFull: true });
    const found = await f.lease('simple');
    expect(found).toHaveLength(1);
    const [before] = lost.filter(({ queue }) => queue === 'simple');
    expect(await f.engine.ackMany(f.ns, [ackOf(before!)])).toEqual(['lease_lost']);
    expect(await f.engine.ackMany(f.ns, found.map(ackOf))).toEqual(['acked']);
  });

  it('keeps the publish times of jobs', async () => {
    store.backUp();
    const lost = await leaseAll(f);
    await store.restart({ restores: true });
    const found = await leaseAll(f);
    expect(found.map(({ publishedAtMs }) => publishedAtMs)).toEqual(
      lost.map(({ publishedAtMs }) => publishedAtMs),
    );
    const details = await Promise.all(found.map(({ id }) => f.find(id)));
    expect(details.map((job) => job?.publishedAtMs)).toEqual(lost.map(({ publishedAtMs }) => publishedAtMs));
  });

  it('grants no lease number twice if it is restored from the same file again after many leases', async () => {
    store.backUp();
    const granted = new Set<string>();
    for (let run = 0; run < 3; run++) {
      for (let round = 0; round < 20; round++) {
        for (const job of await leaseAll(f)) {
          const key = `${job.queue} ${String(job.lease)}`;
          expect([key, granted.has(key)]).toEqual([key, false]);
          granted.add(key);
          await f.engine.settle.release(f.ns, { ...job, delayMs: 0, isCounted: false });
        }
      }
      await store.restart({ restores: true });
    }
  });

  it('refuses a lease from before the restore after the data of its job changed', async () => {
    const [changed] = await f.engine.jobs.publish(f.ns, [
      { queue: 'changed', body: Buffer.from('old'), tries: 9 },
    ]);
    const id = changed!.id;
    await f.engine.settle.release(f.ns, { ...(await f.lease('changed'))[0]!, delayMs: 0, isCounted: true });
    store.backUp();
    const [lost] = await f.lease('changed');
    await store.restart({ restores: true });
    await f.engine.jobs.change(f.ns, id, { data: { body: Buffer.from('new') } });
    expect(await f.engine.ackMany(f.ns, [ackOf(lost!)])).toEqual(['lease_lost']);
    expect((await f.lease('changed'))[0]?.body.toString()).toBe('new');
  });

  it.each([
    ['simple ones', []],
    ['extended ones', ['simple', 'chosen']],
  ])('respawns dead jobs with lease numbers that it has not granted: %s', async (_title, more) => {
    for (const id of [undefined, 'dead-17']) await f.publish('dead', { tries: 1, ...(id && { id }) });
    for (const kind of more) {
      const id = kind === 'chosen' ? { id: 'dead-18' } : {};
      await f.engine.jobs.publish(f.ns, [{ queue: 'dead', body: Buffer.from('x'), tries: 1, ...id }]);
    }
    const count = 2 + more.length;
    await f.lease('dead', { count, ttrMs: 1 });
    f.engine.start();
    await waitFor(async () => (await f.counts('dead'))?.dead === count, 10_000);
    store.backUp();
    await f.engine.deadLetter.respawn(f.ns, 'dead', count, 0);
    const lost = await f.lease('dead', { count });
    await store.restart({ restores: true });
    await f.engine.deadLetter.respawn(f.ns, 'dead', count, 0);
    // Before the next lease too: a job that waits may be acknowledged by its last lease holder.
    expect(await f.engine.ackMany(f.ns, lost.map(ackOf))).toEqual(lost.map(() => 'lease_lost'));
    expect(await f.lease('dead', { count })).toHaveLength(count);
    expect(await f.engine.ackMany(f.ns, lost.map(ackOf))).toEqual(lost.map(() => 'lease_lost'));
  });

  it('counts lease numbers from one if it is new', async () => {
    expect((await f.lease('simple'))[0]?.lease).toBe(1);
  });
});

describe('a Redis that has lost data', () => {
  let store: Store;
  let other: EngineFixture;
  let redis: Redis;
  /** Of the lines in the logs of both servers. */
  let since: string[];
  const log: Log = {
    ...silentLog,
    warn: (fields, message) => {
      if (message.startsWith('Redis has lost data')) since.push((fields as { since: string }).since);
    },
  };
  beforeEach(async () => {
    since = [];
    store = await Store.open(log);
    other = await store.connect(log);
    redis = new Redis(store.url, { protocol: 2 });
    redis.on('error', () => undefined);
  });
  afterEach(async () => {
    redis.disconnect();
    await other.close();
    await store.close();
  });
  const probes = async (): Promise<number> => Number(await redis.hget('pumphouse:run', 'probes'));
  const probed = async (count: number): Promise<void> => {
    const before = await probes();
    await waitFor(async () => (await probes()) >= before + count, 20_000);
  };

  it('is named in the log of one server, once, with the time', async () => {
    await probed(4);
    store.backUp();
    const copiedMs = Date.now();
    await probed(8);
    await store.restart({ restores: true });
    await waitFor(() => since.length > 0, 10_000);
    await probed(8);
    expect(since).toHaveLength(1);
    const sinceMs = Date.parse(since[0]!);
    expect(sinceMs).toBeGreaterThan(copiedMs - 2_000);
    expect(sinceMs).toBeLessThan(copiedMs + 1_000);
  });

  it('is named after a flush, with an unknown time', async () => {
    await probed(8);
    await redis.flushall();
    await waitFor(() => since.length > 0, 10_000);
    expect(since).toEqual(['unknown']);
  });

  it('is not named after a restart that lost nothing, nor while it is full', async () => {
    await probed(4);
    await store.restart({ restores: false });
    await probed(4);
    await store.restart({ restores: false, isFull: true });
    await redis.config('SET', 'maxmemory', '0');
    await probed(4);
    expect(since).toEqual([]);
  });
});

describe('an ordinary restart of Redis', () => {
  let store: Store;
  beforeEach(async () => void (store = await Store.open()));
  afterEach(() => store.close());

  it('keeps earlier leases valid, and later jobs with chosen ids simple', async () => {
    const { f } = store;
    for (const queue of QUEUES) await KINDS[queue]!(f, queue);
    const held = await leaseAll(f);
    await store.restart({ restores: false });
    expect(await f.engine.ackMany(f.ns, held.map(ackOf))).toEqual(QUEUES.map(() => 'acked'));

    const sentMs = Date.now();
    await f.engine.jobs.publish(f.ns, [{ queue: 'later', id: 'order-17', body: Buffer.from('x') }]);
    const [later] = await f.lease('later');
    expect(later).not.toHaveProperty('extended');
    expect(Math.abs((later?.publishedAtMs ?? 0) - sentMs)).toBeLessThan(30_000);
    expect(await f.engine.ackMany(f.ns, [ackOf(later!)])).toEqual(['acked']);
  });

  it('gives all servers the same lowest lease number', async () => {
    const { f } = store;
    const other = await store.connect();
    for (const text of ['1', '2', '3']) await f.publish('q', { text });
    await store.restart({ restores: false });
    await waitFor(() => other.pool.status.up, 10_000);
    const late = await store.connect();
    const leases = [];
    for (const server of [f, other, late]) leases.push(...(await server.lease('q')));
    expect(new Set(leases.map(({ lease }) => lease)).size).toBe(1);
    for (const server of [other, late]) await server.close();
  });
});

describe('a replica that lags', () => {
  it('grants no lease number that its master granted, neither when it is promoted nor when the master copies it', async () => {
    const store = await Store.open();
    const { f } = store;
    const replica = await startRedis({ args: ALWAYS });
    const [master, behind] = [store.url, replica.url].map((url) => new Redis(url, { protocol: 2 }));
    try {
      for (const queue of QUEUES) await KINDS[queue]!(f, queue);
      const { port } = new URL(store.url);
      await behind!.replicaof('127.0.0.1', port);
      await waitFor(
        async () => (await behind!.info('replication')).includes('master_link_status:up'),
        10_000,
      );
      await behind!.replicaof('NO', 'ONE');
      const lost = await leaseAll(f);
      // The process stays, and so do the connections of servers.
      await master!.replicaof('127.0.0.1', String(replica.port));
      await waitFor(
        async () => (await master!.info('replication')).includes('master_link_status:up'),
        10_000,
      );
      await master!.replicaof('NO', 'ONE');
      // Servers look once a second.
      const floor = async (): Promise<number> => Number(await master!.hget('pumphouse:run', 'floor'));
      await waitFor(async () => (await floor()) > 0 && f.pool.status.up, 10_000);
      const found = await leaseAll(f);
      expect(found.map(({ queue }) => queue)).toEqual(QUEUES);
      expect(await f.engine.ackMany(f.ns, lost.map(ackOf))).toEqual(QUEUES.map(() => 'lease_lost'));

      const other = await RedisPool.connect('default', testPoolOptions({ url: replica.url }), silentLog);
      const promoted = Object.assign(EngineFixture.over(other), { ns: f.ns });
      const again = await leaseAll(promoted);
      expect(again.map(({ queue }) => queue)).toEqual(QUEUES);
      expect(await promoted.engine.ackMany(f.ns, lost.map(ackOf))).toEqual(QUEUES.map(() => 'lease_lost'));
      await promoted.close();
    } finally {
      master!.disconnect();
      behind!.disconnect();
      await store.close();
      await replica.stop();
    }
  });
});

describe('a deposed master that still answers', () => {
  it('grants no lease number that its successor grants, when a server is connected to both', async () => {
    const [deposed, successor] = await Promise.all([0, 1].map(() => startRedis({ args: ALWAYS })));
    const proxy = await TcpProxy.start(deposed!.port);
    const admins = [deposed, successor].map((one) => new Redis(one!.port, '127.0.0.1', { protocol: 2 }));
    const pools: RedisPool[] = [];
    // One for commands and one for wake-ups: no call is cut off any more.
    const connectedTo = (admin: Redis): Promise<unknown> =>
      waitFor(async () => String(await admin.client('LIST')).match(/name=pumphouse/g)?.length === 2, 10_000);
    const connect = async (url: string, ns?: string): Promise<EngineFixture> => {
      const pool = await RedisPool.connect('default', testPoolOptions({ url }), silentLog);
      pools.push(pool);
      return Object.assign(EngineFixture.over(pool), ns === undefined ? {} : { ns });
    };
    try {
      const f = await connect(proxy.url);
      for (const queue of QUEUES) await KINDS[queue]!(f, queue);
      await admins[1]!.replicaof('127.0.0.1', String(deposed!.port));
      await waitFor(async () => (await admins[1]!.info('replication')).includes('link_status:up'), 10_000);
      await admins[1]!.replicaof('NO', 'ONE');
      // One connection of the server goes to the successor, and the others stay.
      proxy.targetPort = successor!.port;
      await admins[0]!.client('KILL', 'TYPE', 'PUBSUB');
      await connectedTo(admins[1]!);
      await waitFor(() => f.pool.status.up, 10_000);
      const granted = [...(await leaseAll(f))];
      // And back again.
      proxy.targetPort = deposed!.port;
      await admins[1]!.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      await connectedTo(admins[0]!);
      await waitFor(() => f.pool.status.up, 10_000);
      granted.push(...(await leaseAll(f)));
      for (const { port } of [deposed!, successor!]) {
        granted.push(...(await leaseAll(await connect(`redis://127.0.0.1:${String(port)}`, f.ns))));
      }
      const numbers = granted.map(({ id, lease }) => `${id} ${String(lease)}`);
      expect(granted.length).toBeGreaterThan(QUEUES.length);
      expect(numbers.filter((number, i) => numbers.indexOf(number) !== i)).toEqual([]);
    } finally {
      for (const pool of pools) await pool.close();
      for (const admin of admins) admin.disconnect();
      await proxy.stop();
      for (const redis of [deposed, successor]) await redis!.stop();
    }
  });
});

describe('a node of a Cluster that is restored from an older file', () => {
  let cluster: TestCluster;
  let f: EngineFixture;
  const connect = () =>
    RedisPool.connect(
      'default',
      { allowUnsafe: false, keyPrefix: '', commandTimeoutMs: 2_000, clusterNodes: cluster.addresses },
      silentLog,
    );
  beforeEach(async () => {
    cluster = await TestCluster.start();
    f = EngineFixture.over(await connect());
    for (const { redis } of cluster.masters) await redis.config('SET', 'appendfsync', 'always');
    for (const queue of QUEUES) await KINDS[queue]!(f, queue);
  });
  afterEach(async () => {
    await f.close();
    await cluster.stop();
  });

  /** @param leases called in the time that is lost @returns the jobs that are leased after it */
  async function restore(owner: ClusterNode, leases: () => Promise<LeasedJob[]>): Promise<void> {
    const files = join(owner.server.dir, 'appendonlydir');
    cpSync(files, `${files}.copy`, { recursive: true });
    const lost = await leases();
    await cluster.kill(owner);
    rmSync(files, { recursive: true });
    cpSync(`${files}.copy`, files, { recursive: true });
    await cluster.restart(owner);
    await waitFor(() => f.pool.status.up && f.pool.status.degraded.length === 0, 20_000);
    const found = await leaseAll(f);
    expect(found.map(({ queue }) => queue)).toEqual(QUEUES);
    for (const [i, { lease }] of found.entries()) expect(lease).toBeGreaterThan(lost[i]!.lease);
    expect(await f.engine.ackMany(f.ns, lost.map(ackOf))).toEqual(QUEUES.map(() => 'lease_lost'));
  }

  it('grants no lease number twice', async () => {
    const { owner } = await cluster.ownerOf(`{${f.ns}}`);
    await restore(owner, () => leaseAll(f));
  });

  it('can be connected to while the slot of its record is moved to another node', async () => {
    const { owner } = await cluster.ownerOf(`{${f.ns}}`);
    const [record] = await owner.redis.keys('pumphouse:run{*');
    const move = await SlotMove.begin(cluster, record!);
    await move.moveKeys(await move.keysAt(owner));
    const second = EngineFixture.over(await connect());
    try {
      expect(await leaseAll({ ns: f.ns, engine: second.engine })).toHaveLength(QUEUES.length);
    } finally {
      await second.close();
    }
  });

  it('has its jobs compared with the beginning of its own run, if the floor of another node is higher', async () => {
    const { owner, other } = await cluster.ownerOf(`{${f.ns}}`);
    const admit = async (floor: LeaseFloor, { redis }: ClusterNode): Promise<boolean> =>
      floor.admit((...args) => redis.call(...(args as [string])), parseInfo(await redis.info()));
    const recordOf = async ({ redis }: ClusterNode): Promise<string> =>
      (await redis.keys('pumphouse:run{*'))[0]!;
    await other.redis.hset(await recordOf(other), 'floor', 3_000_000_000);
    const floor = new LeaseFloor(new Keys(''));
    await admit(floor, other);
    await owner.redis.hset(await recordOf(owner), 'store', 'before');
    await admit(new LeaseFloor(new Keys('')), owner);
    const beganMs = Number(await owner.redis.hget(await recordOf(owner), 'began'));
    expect(await admit(floor, owner)).toBe(true);
    const args: Arg[] = [1, 'q', ''];
    const bytes = floor.fill({ keys: ['queue'], args: ['clock_ms'] }, args)[2] as Buffer;
    expect([bytes.readUInt32BE(), bytes.readUIntBE(4, 6)]).toEqual([3_000_000_000, beganMs]);
  });

  it('grants no lease number twice that a server had from the higher floor of another node', async () => {
    const { owner, other } = await cluster.ownerOf(`{${f.ns}}`);
    // A run of the other node that this server does not know of: it was cut off from that node.
    const HIGH = 3_000_000_000;
    const [record] = await other.redis.keys('pumphouse:run{*');
    await other.redis.hset(record!, 'floor', HIGH);
    const second = EngineFixture.over(await connect());
    const floors = async (): Promise<number[]> => {
      const records = await owner.redis.keys('pumphouse:run{*');
      return Promise.all(records.map(async (key) => Number(await owner.redis.hget(key, 'floor'))));
    };
    await waitFor(async () => (await floors()).includes(HIGH), 10_000);
    await restore(owner, async () => {
      const lost = await leaseAll({ ns: f.ns, engine: second.engine });
      await second.close();
      return lost;
    });
  });
});
