import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { Audit } from '../engine/audit.js';
import { auditIndexes } from '../engine/index-audit.js';
import { BuiltServer } from '../support/built-server.js';
import { randomFrom } from '../support/random.js';
import { PUSH, Receiver } from '../support/receiver.js';
import { randomNamespace, startRedis, waitFor } from '../support/redis.js';
import { ROUNDS, SEED, SLOWNESS } from '../support/scale.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { FAULTS, REDIS_ARGS, type Stage } from './faults.js';

/** Kinds that hit a server with requests under way, or what it records their outcomes in. */
const KINDS = [
  'a server is killed',
  'connections are cut',
  'Redis is killed',
  'a server is told to end',
  'replies are lost',
  'a server stands still',
];
const BATCH = 60;
const TIMEOUT_MS = 1_000;
jest.setTimeout((120_000 + KINDS.length * ROUNDS * 20_000) * SLOWNESS);

interface Job {
  readonly id: string;
  readonly state: string;
  readonly result: { readonly data: { readonly number: number } } | null;
}

describe('HTTP push by two servers on one Redis', () => {
  let stage: Stage;
  let redis: Redis;
  let receiver: Receiver;
  let namespace: string;
  let token: string;
  const closing: (() => Promise<unknown>)[] = [];

  beforeAll(async () => {
    // A folder that was made for one Redis would go with it, and the next one has to find its data.
    const process = await startRedis({
      args: REDIS_ARGS,
      dir: mkdtempSync(join(tmpdir(), 'pumphouse-push-')),
    });
    const proxies = await Promise.all([TcpProxy.start(process.port), TcpProxy.start(process.port)]);
    const servers = await Promise.all(
      proxies.map(({ url }) => BuiltServer.create({ ...PUSH, PUMPHOUSE_POOLS__DEFAULT__URL: url })),
    );
    stage = { servers, proxies, random: randomFrom(SEED), redis: process };
    redis = new Redis(process.url, { protocol: 2, maxRetriesPerRequest: null });
    redis.on('error', () => undefined);
    closing.push(
      async () => {
        redis.disconnect();
        await stage.redis.stop();
        rmSync(process.dir, { recursive: true, force: true });
      },
      ...proxies.map((proxy) => () => proxy.stop()),
      ...servers.map((server) => () => server.remove()),
    );
    await Promise.all(servers.map((server) => server.start()));
  });
  afterAll(async () => {
    for (const close of closing.reverse()) await close();
  });
  beforeEach(async () => {
    receiver = await Receiver.start();
    namespace = randomNamespace('push');
    token = await stage.servers[0]!.token(namespace);
  });
  afterEach(() => receiver.stop());

  /** By the first server that answers with a success; the body may have come several times then. */
  async function call<T>(method: string, path: string, body?: object): Promise<T> {
    const endMs = performance.now() + 30_000;
    let last: unknown;
    while (performance.now() < endMs) {
      for (const { url } of stage.servers) {
        try {
          const answer = await fetch(`${url}/v1/${namespace}/${path}`, {
            ...{ method, headers: { 'x-token': token, 'content-type': 'application/json' } },
            ...(body ? { body: JSON.stringify(body) } : {}),
            signal: AbortSignal.timeout(5_000),
          });
          const text = await answer.text();
          if (answer.ok) return (text === '' ? null : JSON.parse(text)) as T;
          last = new Error(text);
        } catch (error) {
          last = error;
        }
      }
      await sleep(50);
    }
    throw new Error(`${method} ${path} has no success`, { cause: last });
  }

  async function pushed(name: string, more: object = {}): Promise<void> {
    await call('PUT', `targets/${name}`, { url: receiver.url, timeout_ms: TIMEOUT_MS, ...more });
    await call('PATCH', `queues/${name}`, { push: { target: name } });
  }

  async function publish(queue: string, count: number): Promise<string[]> {
    const job = {
      queue,
      data: 1,
      tries: 1_000,
      retry: { kind: 'fixed', delay_ms: 100 },
      retention_ms: 3_600_000,
    };
    const many = Array.from({ length: count }, () => call<{ id: string }>('POST', 'jobs', job));
    return (await Promise.all(many)).map(({ id }) => id);
  }

  const breakerOf = async (name: string): Promise<{ state: string; openings: number }> =>
    (await call<{ breaker: { state: string; openings: number } }>('GET', `targets/${name}`)).breaker;

  it('sends each job until it has a 2xx, and acknowledges none without a 2xx, over kills and lost connections', async () => {
    const { random } = stage;
    let number = 0;
    /** The numbers of the answers with 200, by job. */
    const answered = new Map<string, number[]>();
    receiver.respond = (response, { headers }) => {
      const id = String(headers['webhook-id']);
      const chance = random();
      const own = ++number;
      setTimeout(() => {
        if (chance < 0.05) response.destroy();
        else if (chance < 0.1) response.writeHead(503).end(JSON.stringify({ number: own }));
        else if (chance < 0.15) response.writeHead(429).end();
        else if (chance > 0.16) {
          answered.set(id, [...(answered.get(id) ?? []), own]);
          response.setHeader('content-type', 'application/json');
          response.end(JSON.stringify({ number: own }));
        }
      }, random() * 300);
    };
    await pushed('orders');

    const ids: string[] = [];
    for (const kind of Array.from({ length: ROUNDS }, () => KINDS).flat()) {
      const publishing = publish('orders', BATCH);
      await sleep(random() * 250);
      await FAULTS[kind]!(stage);
      ids.push(...(await publishing));
      // It goes on after each; a breaker that the cut connections have opened would hide that for 30 s.
      await call('POST', 'targets/orders/resume');
      const after = await publish('orders', 10);
      await waitFor(() => after.some((id) => answered.has(id)), 30_000);
      ids.push(...after);
    }
    await waitFor(async () => {
      const { breaker } = await call<{ breaker: { state: string } }>('GET', 'targets/orders');
      if (breaker.state !== 'closed') await call('POST', 'targets/orders/resume');
      return ids.every((id) => answered.has(id));
    });

    const twice = [...answered.values()].filter(({ length }) => length > 1).length;
    console.log(`${String(ids.length)} jobs, ${String(number)} requests, ${String(twice)} answered twice`);
    for (const id of ids) {
      const job = await waitFor(async () => {
        const found = await call<Job>('GET', `jobs/${id}`);
        return found.state === 'done' ? found : null;
      }, 20_000);
      expect(answered.get(id)).toContain(job.result?.data.number);
    }
    // Publishes whose answer was lost have made jobs too.
    await waitFor(async () => {
      return (await call<{ length: number }>('GET', 'queues/orders')).length === 0;
    });
    expect(await Audit.of(redis, namespace)).toEqual([]);
    expect(await auditIndexes(redis, namespace)).toEqual([]);
  });

  it('shares the breaker: no server sends while the breaker is open, and one server sends a trial after the other died in its own', async () => {
    receiver.respond = (response) => response.destroy();
    await pushed('broken');
    await publish('broken', 40);
    await waitFor(async () => (await breakerOf('broken')).state === 'open', 20_000);
    // The other server knows it within a second.
    await sleep(2_000);
    const before = receiver.received.length;
    await sleep(3_000);
    expect(receiver.received.length).toBe(before);

    const [first, second] = stage.servers as [BuiltServer, BuiltServer];
    await second.end('SIGKILL');
    receiver.respond = () => undefined;
    const openUntilMs = Date.now();
    await redis.hset(
      `{${namespace}}:targets`,
      'b:broken',
      JSON.stringify({ openUntilMs, openings: 1, probeUntilMs: 0 }),
    );
    await redis.hincrby(`{${namespace}}:targets`, 'v', 1);
    await waitFor(() => receiver.received.length > before, 10_000);
    await first.end('SIGKILL');
    expect(receiver.received.length).toBe(before + 1);

    receiver.respond = (response) => void response.end();
    await second.start();
    await waitFor(async () => (await breakerOf('broken')).state === 'closed', 30_000);
    await waitFor(async () => {
      return (await call<{ counts: { done: number } }>('GET', 'queues/broken')).counts.done === 40;
    });
    await first.start();
  });

  it.each([200, 410, 500, 429])(
    'leaves only the marker of a namespace that is purged while its requests wait for the answer %d',
    async (status) => {
      const held: (() => void)[] = [];
      receiver.respond = (response) => {
        held.push(() => void response.writeHead(status).end());
      };
      await pushed('gone', { timeout_ms: 20_000 });
      await publish('gone', 20);
      await waitFor(() => held.length >= 10, 20_000);
      const purged = await fetch(`${stage.servers[0]!.adminUrl}/namespaces/${namespace}`, {
        method: 'DELETE',
      });
      expect(await purged.json()).toMatchObject({ done: true });
      for (const end of held) end();
      const sent = receiver.received.length;
      await sleep(2_000);

      // What the others held may have been sent before they knew; nothing comes afterwards.
      expect(receiver.received.length).toBeLessThanOrEqual(sent + 2);
      // A call to a purged namespace, as the settling here, marks it anew; what ends by itself is no rest either.
      const rest: string[] = [];
      for (const key of await redis.keys(`{${namespace}}*`)) {
        if (key !== `{${namespace}}:meta` && (await redis.pttl(key)) < 0) rest.push(key);
      }
      expect(rest).toEqual([]);
      expect(await redis.sismember('pumphouse:pushed', namespace)).toBe(0);
    },
  );
});
