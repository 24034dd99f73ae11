import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Audit } from '../engine/audit.js';
import { BuiltServer } from '../support/built-server.js';
import { type RedisProcess, startRedis } from '../support/redis.js';

export interface LeasedJob {
  readonly id: string;
  readonly lease: number;
}

/** Two servers over one Redis, which are killed in turns while their clients call them. */
export class KilledPair {
  private constructor(
    private readonly redis: RedisProcess,
    private readonly servers: readonly BuiltServer[],
    private readonly namespace: string,
    private readonly token: string,
    private readonly random: () => number,
  ) {}

  static async start(namespace: string, random: () => number): Promise<KilledPair> {
    const redis = await startRedis();
    const env = { PUMPHOUSE_POOLS__DEFAULT__URL: redis.url };
    const servers = [await BuiltServer.create(env), await BuiltServer.create(env)];
    await Promise.all(servers.map((server) => server.start()));
    return new KilledPair(redis, servers, namespace, await servers[0]!.token(namespace), random);
  }

  async stop(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.remove()));
    await this.redis.stop();
  }

  /** A call of either server, which may not answer. @returns null: it did not, or it refused */
  async call(method: string, path: string, body?: object): Promise<unknown> {
    const { url } = this.servers[this.random() < 0.5 ? 0 : 1]!;
    const sent = fetch(`${url}/v1/${this.namespace}/${path}`, {
      ...{ method, headers: { 'X-Token': this.token }, signal: AbortSignal.timeout(10_000) },
      ...(body && { body: JSON.stringify(body) }),
    });
    const answer = await sent.catch(() => null);
    // A call that the API refuses is a mistake of the spec.
    if (answer?.status === 400) throw new Error(`${method} ${path}: ${await answer.text()}`);
    return answer?.ok === true ? answer.json().catch(() => null) : null;
  }

  /** Sends a call again until it is answered. */
  async untilAnswered(method: string, path: string, body: object): Promise<void> {
    while ((await this.call(method, path, body)) === null) await sleep(20);
  }

  async lease(request: object): Promise<readonly LeasedJob[]> {
    const answer = (await this.call('POST', 'leases', request)) as { jobs: LeasedJob[] } | null;
    // Its server may be down.
    if (answer === null) await sleep(20);
    return answer?.jobs ?? [];
  }

  /** False also if no server answers. */
  async isEmpty(queue: string): Promise<boolean> {
    const answer = (await this.call('GET', `queues/${queue}`)) as { length: number } | null;
    return answer?.length === 0;
  }

  /** Kills a server and starts it again, so many times, the two in turns. */
  async kill(times: number): Promise<void> {
    for (let i = 0; i < times; i++) {
      await sleep(500 + this.random() * 1_000);
      await this.servers[i % 2]!.end('SIGKILL');
      await this.servers[i % 2]!.start();
    }
  }

  /** The problems of what is stored. */
  async audit(): Promise<string[]> {
    const store = new Redis(this.redis.url);
    try {
      return await Audit.of(store, this.namespace);
    } finally {
      store.disconnect();
    }
  }
}
