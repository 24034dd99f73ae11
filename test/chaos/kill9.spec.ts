import { jest } from '@jest/globals';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { decodeId } from '../../src/engine/ids.js';
import { Audit } from '../redis/audit.js';
import { randomFrom } from '../support/random.js';
import { BuiltServer } from '../support/built-server.js';
import { randomNamespace, startRedis, waitFor, type RedisProcess } from '../support/redis.js';
import { Fleet } from './fleet.js';
import { Journal, judge } from './journal.js';

/** `npm run chaos` asks for 20. */
const ROUNDS = Number(process.env['PUMPHOUSE_CHAOS_ROUNDS'] ?? 4);
const SEED = Number(process.env['PUMPHOUSE_CHAOS_SEED'] ?? Date.now() % 2 ** 31);
const ROUND_MS = 2_000;
const TTR_S = 2;
const TRIES = 5;
jest.setTimeout(120_000 + ROUNDS * 15_000);

/** Two servers over one Redis of their own, and what their clients saw. */
class Arena {
  readonly journal = new Journal();
  readonly namespace = randomNamespace('kill9');
  readonly random = randomFrom(SEED);

  private constructor(
    readonly redis: RedisProcess,
    readonly servers: readonly BuiltServer[],
  ) {}

  static async open(): Promise<Arena> {
    const redis = await startRedis();
    const env = { PUMPHOUSE_POOLS__DEFAULT__URL: redis.url };
    const servers = [await BuiltServer.create(env), await BuiltServer.create(env)];
    const arena = new Arena(redis, servers);
    await Promise.all(servers.map((server) => server.start()));
    return arena;
  }

  async fleet(jobs: number, pauseMs: number): Promise<Fleet> {
    const urls = this.servers.map(({ url }) => url);
    const token = await this.servers[0]!.token(this.namespace);
    const { namespace, random } = this;
    const clients = { producers: 8, consumers: 24, jobs, pauseMs, ttrS: TTR_S, tries: TRIES };
    return new Fleet({ urls, namespace, token, random, ...clients }, this.journal);
  }

  async kill(round: number): Promise<void> {
    const at = round % this.servers.length;
    this.journal.note({ op: 'fault', what: `kill -9 of server ${at}` });
    await this.servers[at]!.end('SIGKILL');
    await this.servers[at]!.start();
  }

  /** Waits until nothing waits or is leased, then judges. */
  async settle(): Promise<{ verdict: object; dead: number; audit: string[] }> {
    const client = new Redis(this.redis.url, { protocol: 2 });
    try {
      const key = (kind: string): string => `{${this.namespace}}:${kind}1`;
      await waitFor(async () => (await client.exists(key('r'), key('l'), key('s'))) === 0, 60_000).catch(
        () => undefined,
      );
      const members = await client.zrangeBuffer(key('d'), '0', '-1');
      const dead = new Set(members.map((member) => decodeId(member)));
      const verdict = judge(this.journal, { ttrMs: TTR_S * 1_000, tries: TRIES, dead });
      return { verdict, dead: dead.size, audit: await Audit.of(client, this.namespace) };
    } finally {
      client.disconnect();
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.servers.map((server) => server.remove()));
    await this.redis.stop();
  }
}

describe('two servers on one Redis, one of them killed again and again', () => {
  let arena: Arena;
  let fleet: Fleet | undefined;
  beforeEach(async () => {
    arena = await Arena.open();
  });
  afterEach(async () => {
    await fleet?.end();
    fleet = undefined;
    await arena.close();
  });

  it(`T1: no accepted job is lost over ${ROUNDS} × kill -9, under 24 consumers and 8 producers`, async () => {
    const { journal } = arena;
    fleet = await arena.fleet(ROUNDS * 800, 15);
    fleet.start();
    await sleep(500);
    for (let round = 0; round < ROUNDS; round++) {
      const [beganMs, before] = [performance.now(), journal.count('accepted')];
      await arena.kill(round);
      await sleep(Math.max(ROUND_MS * (0.5 + arena.random()) - (performance.now() - beganMs), 0));
      if (round < ROUNDS / 2) expect(journal.count('accepted')).toBeGreaterThan(before);
    }
    await fleet.accepted();
    const { verdict, dead, audit } = await arena.settle();
    await fleet.end();

    const [accepted, delivered, failed] = (['accepted', 'delivered', 'failed'] as const).map((op) =>
      journal.count(op),
    );
    console.log(
      `seed ${SEED}: ${accepted} accepted, ${delivered} delivered, ${dead} dead, ${failed} requests failed, ${ROUNDS} kills`,
    );
    const sound = { lost: [], unexpected: [], doubled: [], undead: [], overrun: [], multiplied: [] };
    if (JSON.stringify({ verdict, audit }) !== JSON.stringify({ verdict: sound, audit: [] })) {
      const file = join(mkdtempSync(join(tmpdir(), 'pumphouse-chaos-')), 'journal.jsonl');
      journal.save(file);
      console.log(`what the clients saw: ${file}`);
    }
    expect(verdict).toEqual(sound);
    expect(audit).toEqual([]);
    expect(failed).toBeGreaterThan(0);
  });
});
