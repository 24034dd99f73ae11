import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { TestApp } from '../support/app.js';
import { BuiltServer } from '../support/built-server.js';
import { answerWith, PUSH, Receiver, type Received } from '../support/receiver.js';
import { randomNamespace, type RedisProcess, startRedis, waitFor } from '../support/redis.js';
import { SteppedClock } from '../support/stepped-clock.js';
import { TcpProxy } from '../support/tcp-proxy.js';

const KILLS = 4;
const JOBS = 200;
/** Leases last five seconds longer: so long a job of a killed server stays away. */
const TIMEOUT_MS = 1_000;
const NEVER = { data: 'never', tries: 3, retry: { kind: 'fixed', delay_ms: 0 } };
/** Of a server that pushes nothing. */
const QUIET = { PUMPHOUSE_PUSH__ALLOW_HTTP: 'true', PUMPHOUSE_PUSH__PORTS: '443,1024-65535' };
/** Each kill may cost a job a try. */
const SOME_DAY = {
  ...{ data: 'some day', tries: 50, retention_ms: 600_000 },
  retry: { kind: 'fixed', delay_ms: 100 },
};

/** Calls of the native API for one namespace of a server. */
class Client {
  constructor(
    private readonly url: string,
    readonly namespace: string,
    private readonly token: string,
  ) {}

  static of(app: TestApp): Client {
    return new Client(`http://127.0.0.1:${String(app.port)}`, app.namespace, app.token);
  }

  async call<T>(method: string, path: string, body?: object): Promise<T> {
    const answer = await fetch(`${this.url}/v1/${this.namespace}/${path}`, {
      method,
      headers: { 'x-token': this.token },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${String(answer.status)} ${await answer.text()}`);
    return (answer.status === 204 ? undefined : await answer.json()) as T;
  }

  async pushTo(url: string, queue = 'q'): Promise<void> {
    await this.call('PUT', 'targets/t', { url, timeout_ms: TIMEOUT_MS });
    await this.call('PATCH', `queues/${queue}`, { push: { target: 't' } });
  }

  async publish(job: object = SOME_DAY): Promise<string> {
    return (await this.call<{ id: string }>('POST', 'jobs', { queue: 'q', ...job })).id;
  }

  async stateOf(id: string): Promise<string> {
    return (await this.call<{ state: string }>('GET', `jobs/${id}`)).state;
  }

  async breaker(): Promise<string> {
    return (await this.call<{ breaker: { state: string } }>('GET', 'targets/t')).breaker.state;
  }
}

describe('HTTP push under faults', () => {
  let redis: RedisProcess;
  let store: Redis;
  let receiver: Receiver;
  /** Jobs that got a 2xx. */
  let accepted: Set<string>;
  const ends: (() => unknown)[] = [];

  beforeEach(async () => {
    redis = await startRedis();
    store = new Redis(redis.port, '127.0.0.1', { protocol: 2 });
    receiver = await Receiver.start();
    accepted = new Set();
  });
  afterEach(async () => {
    for (const end of ends.splice(0).reverse()) await end();
    await receiver.stop();
    store.disconnect();
    await redis.stop();
  });

  async function startApp(url = redis.url, more: Record<string, string> = PUSH): Promise<TestApp> {
    const app = await TestApp.start({ ...more, PUMPHOUSE_POOLS__DEFAULT__URL: url });
    ends.push(() => app.stop());
    return app;
  }

  /** Accepts a job after `delayMs`; of `never` it accepts none, and of the others it refuses a fifth at first. */
  function acceptAfter(delayMs: () => number): void {
    let requests = 0;
    receiver.respond = (response, { headers, body }) => {
      const isRefused = body.toString() === '"never"' || requests++ % 5 === 0;
      setTimeout(() => {
        if (!isRefused) accepted.add(String(headers['webhook-id']));
        response.writeHead(isRefused ? 422 : 200).end();
      }, delayMs());
    };
  }

  async function allIn(client: Client, ids: readonly string[], state: string): Promise<void> {
    const left = new Set(ids);
    await waitFor(async () => {
      for (const id of left) {
        if ((await client.stateOf(id)) !== state) return false;
        left.delete(id);
      }
      return true;
    }, 60_000).catch((cause: unknown) => {
      throw new Error(`${String(left.size)} of ${String(ids.length)} jobs are not ${state}`, { cause });
    });
  }

  it(`delivers each job over ${KILLS} × kill -9 of two servers, and completes none without a 2xx`, async () => {
    acceptAfter(() => 20 + Math.random() * 100);
    const env = { ...PUSH, PUMPHOUSE_POOLS__DEFAULT__URL: redis.url, PUMPHOUSE_SERVER__WORKERS: '1' };
    const servers = [await BuiltServer.create(env), await BuiltServer.create(env)] as const;
    ends.push(() => Promise.all(servers.map((server) => server.remove())));
    await Promise.all(servers.map((server) => server.start()));
    // Not killed, and pushes nothing.
    const watching = Client.of(await startApp(redis.url, QUIET));
    await watching.pushTo(receiver.url);

    const [ids, refused]: [string[], string[]] = [[], []];
    for (let kill = 0; kill < KILLS; kill++) {
      for (let i = 0; i < JOBS / KILLS; i++) ids.push(await watching.publish());
      for (let i = 0; i < 5; i++) refused.push(await watching.publish(NEVER));
      await waitFor(() => receiver.received.length > kill * 50 + 20, 20_000);
      const server = servers[kill % 2]!;
      await server.end('SIGKILL');
      await server.start();
    }
    await allIn(watching, ids, 'done');
    await allIn(watching, refused, 'dead');

    for (const id of ids) expect(accepted).toContain(id);
    for (const id of refused) expect(receiver.of(id).length).toBeGreaterThan(0);
  }, 180_000);

  it('loses nothing when Redis goes down during requests and returns', async () => {
    acceptAfter(() => 200 + Math.random() * 300);
    const proxy = await TcpProxy.start(redis.port);
    ends.push(() => proxy.down());
    await startApp(proxy.url);
    const watching = Client.of(await startApp(redis.url, QUIET));
    await watching.pushTo(receiver.url);
    const ids: string[] = [];
    for (let i = 0; i < 60; i++) ids.push(await watching.publish());
    await waitFor(() => receiver.received.length > 20, 10_000);

    await proxy.down();
    await sleep(1_500);
    const before = accepted.size;
    await proxy.up();
    for (let i = 0; i < 20; i++) ids.push(await watching.publish());
    await allIn(watching, ids, 'done');

    // Some were answered while the outcome could not be recorded.
    expect(before).toBeGreaterThan(0);
    for (const id of ids) expect(accepted).toContain(id);
  });

  it('stops for a failing target on both servers, then sends one job from one server as a trial', async () => {
    receiver.respond = answerWith(500);
    const apps = [await startApp(), await startApp()];
    const watching = Client.of(apps[0]!);
    await watching.pushTo(receiver.url);
    const ids: string[] = [];
    for (let i = 0; i < 60; i++) ids.push(await watching.publish());
    await waitFor(async () => (await watching.breaker()) === 'open', 20_000);
    // Within a second the other server knows, too.
    await sleep(2_500);
    const sent = receiver.received.length;
    await sleep(1_500);
    expect(receiver.received.length).toBe(sent);
    const key = `{${watching.namespace}}:targets`;

    // The half minute is over at an instant that both servers know by then; the target hangs.
    receiver.respond = () => undefined;
    await watching.call('PATCH', 'targets/t', { timeout_ms: 60_000 });
    const breaker = JSON.parse((await store.hget(key, 'b:t'))!) as object;
    await store.hset(key, 'b:t', JSON.stringify({ ...breaker, openUntilMs: Date.now() + 2_500 }));
    await store.hincrby(key, 'v', 1);
    await waitFor(() => receiver.received.length > sent, 10_000);
    await sleep(1_500);
    expect(receiver.received.length).toBe(sent + 1);

    // A server that stops in the middle of it has learned nothing of the target.
    ends.splice(0);
    await Promise.all(apps.map((app) => app.stop()));
    expect(await store.hexists(key, 'b:t')).toBe(1);
    expect(receiver.received.length).toBe(sent + 1);
  });

  it('sends the jobs of a full Redis when the target works again, and closes the breaker', async () => {
    const client = Client.of(await startApp());
    receiver.respond = (response) => response.destroy();
    await client.pushTo(receiver.url);
    await client.call('PUT', 'targets/other', { url: receiver.url });
    await client.call('PATCH', 'targets/t', { breaker: { failures: 1, open_ms: 5_000 } });
    await sleep(1_200);
    const ids = [await client.publish(), await client.publish(), await client.publish()];
    await waitFor(async () => (await client.breaker()) === 'open', 20_000);
    await store.config('SET', 'maxmemory', 1);
    receiver.respond = (response) => void response.end();

    await waitFor(() => ids.every((id) => receiver.of(id).length > 0), 30_000);
    await allIn(client, ids, 'done');
    expect(await client.breaker()).toBe('closed');
    for (const action of ['pause', 'resume']) await client.call('POST', `targets/other/${action}`);
    await client.call('PATCH', 'targets/other', { timeout_ms: TIMEOUT_MS });
    await client.call('DELETE', 'targets/other');
    await expect(client.call('PUT', 'targets/new', { url: receiver.url })).rejects.toThrow('507');
  });

  it('signs, rotates secrets and opens breakers by the clock of Redis on a server two days ahead', async () => {
    const clock = await SteppedClock.create();
    // Only where there is a C compiler.
    if (clock === null) return;
    ends.push(() => clock.remove());
    clock.step(2 * 86_400);
    const env = { ...PUSH, PUMPHOUSE_POOLS__DEFAULT__URL: redis.url, ...clock.env };
    const server = await BuiltServer.create(env);
    ends.push(() => server.remove());
    await server.start();
    const namespace = randomNamespace('push');
    const client = new Client(server.url, namespace, await server.token(namespace));
    await client.pushTo(receiver.url);
    const near = (time: string | undefined, ms: number): void =>
      expect(Math.abs(Date.parse(time ?? '') - ms)).toBeLessThan(60_000);
    interface Shown {
      readonly old_secret_until?: string;
      readonly updated_at: string;
      readonly paused_at?: string;
      readonly breaker: { readonly open_until?: string };
    }
    const rotated = await client.call<Shown>('POST', 'targets/t/rotate', { keep_old_ms: 600_000 });
    near(rotated.old_secret_until, Date.now() + 600_000);
    near(rotated.updated_at, Date.now());
    await sleep(1_200);
    const id = await client.publish();
    await waitFor(() => receiver.of(id).length > 0, 10_000);
    const [{ headers }] = receiver.of(id) as [Received];
    near(new Date(Number(headers['webhook-timestamp']) * 1_000).toISOString(), Date.now());
    // One for each secret: the old one counts for ten minutes.
    expect(String(headers['webhook-signature']).split(' ')).toHaveLength(2);

    receiver.respond = (response) => response.destroy();
    await client.publish();
    await waitFor(async () => (await client.breaker()) === 'open', 30_000);
    near((await client.call<Shown>('GET', 'targets/t')).breaker.open_until, Date.now() + 30_000);
    near((await client.call<Shown>('POST', 'targets/t/pause')).paused_at, Date.now());
  });

  it('sends only to the new URL of a namespace after its purge, and leaves no key after another purge', async () => {
    receiver.respond = (response) => void setTimeout(() => response.end(), 700);
    const app = await startApp();
    const before = Client.of(app);
    await before.pushTo(receiver.url);
    for (let i = 0; i < 20; i++) await before.publish();
    await waitFor(() => receiver.received.length > 0, 10_000);
    const next = await Receiver.start();
    ends.push(() => next.stop());

    await app.engine.purge.run(app.namespace);
    // As many changes as before: a server must not take them for the same.
    const path = `/token/${app.namespace}?description=again`;
    const { token } = (await app.admin('POST', path)).json as { token: string };
    const after = new Client(`http://127.0.0.1:${String(app.port)}`, app.namespace, token);
    await after.pushTo(next.url);
    await sleep(1_500);
    const sent = receiver.received.length;
    const ids = [await after.publish(), await after.publish()];
    await allIn(after, ids, 'done');

    for (const id of ids) expect(next.of(id)).toHaveLength(1);
    expect(receiver.received.length).toBe(sent);
    await app.engine.purge.run(app.namespace);
    expect(await store.keys(`{${app.namespace}}*`)).toEqual([]);
  });
});
