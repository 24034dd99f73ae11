import { Redis } from 'ioredis';
import { Audit } from '../engine/audit.js';
import { EngineFixture } from '../engine/fixture.js';
import { auditIndexes } from '../engine/index-audit.js';
import { BuiltServer } from '../support/built-server.js';
import { startRedis, waitFor, type RedisProcess } from '../support/redis.js';
import { IS_LONG } from '../support/scale.js';
import { scriptCost } from '../support/script-cost.js';

const JOBS = IS_LONG ? 100_000 : 2_000;
/** Of a script, in microseconds of CPU. */
const LIMIT_US = 5_000;
const CONSUMERS = 4;
const BATCH = 64;

interface Step {
  readonly jobs: number;
  readonly next_cursor: string | null;
}

describe(`T33: ${JOBS} dead jobs`, () => {
  let redis: RedisProcess;
  let admin: Redis;
  let f: EngineFixture;
  let servers: BuiltServer[];
  beforeAll(async () => {
    redis = await startRedis();
    admin = new Redis(redis.port, '127.0.0.1', { protocol: 2 });
    f = await EngineFixture.open({}, { url: redis.url });
    f.engine.start();
    const env = { PUMPHOUSE_POOLS__DEFAULT__URL: redis.url, PUMPHOUSE_SERVER__WORKERS: '1' };
    servers = await Promise.all([BuiltServer.create(env), BuiltServer.create(env)]);
    await Promise.all(servers.map((server) => server.start()));
  });
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.remove()));
    await f.close();
    admin.disconnect();
    await redis.stop();
  });

  async function bury(count: number, group: string): Promise<void> {
    const { extendedPublisher: publishing, settler: settling } = f.engine.components;
    for (let i = 0; i < count; i += BATCH) {
      const jobs = Array.from({ length: Math.min(BATCH, count - i) }, () => ({
        queue: 'q',
        body: Buffer.from('x'),
        tags: ['t'],
      }));
      await publishing.publish(f.ns, jobs);
      const leased = await f.lease('q', { count: jobs.length, ttrMs: 600_000 });
      expect(leased).toHaveLength(jobs.length);
      await settling.settle(
        f.ns,
        leased.map(({ id, lease }) => ({ verb: 'fail', id, lease, options: { group, message: 'm' } })),
      );
    }
  }

  it('T33: are respawned by a filter and done once each, although the server of the first respawn is killed', async () => {
    const [victim, other] = servers as [BuiltServer, BuiltServer];
    const token = await other.token(f.ns);
    const call = async (server: BuiltServer, path: string, body: object): Promise<unknown> => {
      const answer = await fetch(`${server.url}/v1/${f.ns}/${path}`, {
        method: 'POST',
        headers: { 'x-token': token },
        body: JSON.stringify(body),
      });
      if (!answer.ok) throw new Error(`${String(answer.status)} ${await answer.text()}`);
      return answer.json();
    };
    const dead = async (): Promise<number> => (await f.engine.queues.counts(f.ns, ['q']))[0]?.dead ?? 0;

    await bury(JOBS / 4, 'timed');
    const usual = await scriptCost('respawn alone', admin, async () => {
      while ((await dead()) > 0)
        await f.engine.components.deadJobs.respawn(f.ns, { group: 'timed' }, { ttlMs: 0, tries: 'reset' });
    });
    expect(usual).toBeLessThanOrEqual(LIMIT_US);
    await bury(JOBS, 'g');
    const total = JOBS + JOBS / 4;

    const done = new Map<string, number>();
    let isOver = false;
    const consume = async (): Promise<void> => {
      while (!isOver) {
        const leases = { queues: ['q'], count: 20, wait_ms: 500, ttr_ms: 60_000, worker: 'w' };
        const { jobs } = (await call(other, 'leases', leases)) as { jobs: { id: string; lease: number }[] };
        const acks = jobs.map(({ id, lease }) => ({ queue: 'q', id, lease }));
        if (acks.length === 0) continue;
        const { results } = (await call(other, 'acks', { acks })) as {
          results: { id: string; status: string }[];
        };
        for (const { id, status } of results) if (status === 'acked') done.set(id, (done.get(id) ?? 0) + 1);
      }
    };
    const consumers = Array.from({ length: CONSUMERS }, consume);
    // A part of it, and then the server dies while it works on the rest.
    const first = (await call(victim, 'dead-letter/respawn', {
      filter: { group: 'g' },
      limit: JOBS / 4,
    })) as Step;
    const cut = call(victim, 'dead-letter/respawn', { filter: { group: 'g' } }).catch(() => 'cut');
    await waitFor(async () => (await dead()) < JOBS - first.jobs, 10_000);
    await victim.end('SIGKILL');
    await cut;

    const left = await dead();
    console.log(`killed after ${first.jobs}, with ${left} of ${JOBS} left`);
    // It is begun anew, at the other server.
    let cursor: string | null = null;
    let rest = 0;
    do {
      const body = { filter: { group: 'g' }, ...(cursor === null ? {} : { cursor }) };
      const step = (await call(other, 'dead-letter/respawn', body)) as Step;
      rest += step.jobs;
      cursor = step.next_cursor;
    } while (cursor !== null);
    expect(rest).toBe(left);
    await waitFor(() => Promise.resolve(done.size === total), IS_LONG ? 300_000 : 30_000);
    isOver = true;
    await Promise.all(consumers);

    expect([...done.values()].filter((times) => times !== 1)).toEqual([]);
    expect(await f.engine.queues.counts(f.ns, ['q'])).toMatchObject([{ ready: 0, leased: 0, dead: 0 }]);
    expect(await Audit.of(admin, f.ns)).toEqual([]);
    expect(await auditIndexes(admin, f.ns)).toEqual([]);
    expect(await admin.keys(`{${f.ns}}:[tyF]:*`)).toEqual([]);
  }, 900_000);
});
