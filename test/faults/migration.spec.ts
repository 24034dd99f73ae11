import { jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { setTimeout as sleep } from 'node:timers/promises';
import { decodeId } from '../../src/engine/core/ids.js';
import { Audit } from '../engine/audit.js';
import { BuiltServer } from '../support/built-server.js';
import { randomFrom } from '../support/random.js';
import { randomNamespace, startRedis, waitFor, type RedisProcess } from '../support/redis.js';
import { check, type Verdict } from './checkers.js';
import { Fleet } from './fleet.js';
import { Journal } from './journal.js';
import { PAUSE_MS, ROUNDS, SEED, SLOWNESS } from '../support/scale.js';

/** `npm run chaos` asks for 20: then steps come in rounds, and servers are killed as well as stopped. */
const PASSES = Math.ceil(ROUNDS / 4);
const TTR_S = 2;
const TRIES = 5;
/** Leases of one job that may run out uncharged: lua/modules/jobs/deliveries.lua. */
const FREE_RETRIES = 3;
const SOUND: Verdict = { lost: [], unexpected: [], duplicated: [], leases: [] };
jest.setTimeout((120_000 + PASSES * 180_000) * SLOWNESS);

/** Where jobs are published: into the first Redis, into the second, or into the first with the setting taken out. */
type Step = 'first' | 'second' | 'out';

describe('a pool that moves to another Redis under load', () => {
  const random = randomFrom(SEED);
  /** What the two servers are configured with; read at each start. */
  const env: Record<string, string> = {};
  let stores: RedisProcess[];
  let clients: Redis[];
  let servers: BuiltServer[];
  let namespace: string;
  let token: string;
  let journal: Journal;
  let fleet: Fleet;
  let numbering: Promise<number>;
  let isOver: boolean;

  beforeAll(async () => {
    stores = await Promise.all([startRedis(), startRedis()]);
    clients = stores.map(({ url }) => new Redis(url, { protocol: 2 }));
    configure('first');
    servers = await Promise.all([BuiltServer.create(env), BuiltServer.create(env)]);
    await Promise.all(servers.map((server) => server.start()));
  });
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.remove()));
    for (const client of clients) client.disconnect();
    await Promise.all(stores.map((store) => store.stop()));
  });

  /** Both directions have the same form: the two addresses change places. The tokens stay where they are. */
  function configure(step: Step): void {
    const [from, to] = step === 'first' ? [1, 0] : [0, 1];
    Object.assign(env, {
      PUMPHOUSE_POOLS__DEFAULT__URL: stores[from]!.url,
      PUMPHOUSE_POOLS__FRESH__URL: stores[to]!.url,
      PUMPHOUSE_TOKENS__URL: stores[0]!.url,
    });
    if (step === 'out') delete env['PUMPHOUSE_POOLS__DEFAULT__MIGRATE_TO'];
    else env['PUMPHOUSE_POOLS__DEFAULT__MIGRATE_TO'] = 'fresh';
  }

  /** Restarts both servers with another configuration, one after the other, under load. */
  async function enter(step: Step): Promise<void> {
    configure(step);
    journal.add({ op: 'fault', what: step });
    for (const server of servers) {
      await server.end(PASSES > 1 && random() < 0.5 ? 'SIGKILL' : 'SIGTERM');
      await server.start(60_000);
    }
    const before = journal.count('accepted');
    await waitFor(() => journal.count('accepted') > before + 20, 20_000);
  }

  beforeEach(async () => {
    [namespace, journal, isOver] = [randomNamespace('move'), new Journal(), false];
    token = await servers[0]!.token(namespace);
    const options = {
      namespace,
      token,
      random,
      producers: 4,
      consumers: 12,
      jobs: 1e9,
      pauseMs: PAUSE_MS,
      maxDelayS: 0,
    };
    const urls = servers.map(({ url }) => url);
    fleet = new Fleet({ ...options, urls, ttrS: TTR_S, tries: TRIES }, journal);
    fleet.start();
    numbering = numberJobs();
    await waitFor(() => journal.count('accepted') > 50, 20_000);
  });
  afterEach(async () => {
    isOver = true;
    await Promise.all([fleet.end(), numbering]);
  });

  /** Publishes numbered jobs to a queue without consumers, one after the other, by either server. */
  async function numberJobs(): Promise<number> {
    for (let i = 0, server = 0; ; server++) {
      if (isOver) return i;
      const url = `${servers[server % 2]!.url}/api/${namespace}/numbered?ttl=0`;
      const headers = { 'X-Token': token };
      const answer = await fetch(url, { method: 'PUT', headers, body: String(i) }).catch(() => null);
      // No answer: it may be stored, and the next one stands behind it with the same number.
      if (answer?.status === 201) i++;
      await sleep(5);
    }
  }

  async function keyOf(client: Redis, kind: string, queue: string): Promise<string> {
    return `{${namespace}}:${kind}${String(await client.hget(`{${namespace}}:queues`, queue))}`;
  }

  async function numbersIn(client: Redis): Promise<number[]> {
    const line = await client.lrangeBuffer(await keyOf(client, 'r', 'numbered'), 0, -1);
    const job = (entry: Buffer): Buffer =>
      Buffer.concat([Buffer.from(`{${namespace}}j`), entry.subarray(0, -1)]);
    const values = await Promise.all(line.map((entry) => client.getBuffer(job(entry))));
    return values.map((value) => Number(value?.subarray(24).toString()));
  }

  async function isDrained(client: Redis): Promise<boolean> {
    const keys = await Promise.all(['r', 'l', 's'].map((kind) => keyOf(client, kind, 'orders')));
    return (await client.exists(...keys)) === 0;
  }

  /** Ends production, lets the consumers finish, and judges by what they saw. */
  async function verdictOf(): Promise<Verdict> {
    await fleet.endProduction();
    await waitFor(async () => (await Promise.all(clients.map(isDrained))).every(Boolean), 60_000).catch(
      () => undefined,
    );
    isOver = true;
    await fleet.end();
    const dead = new Set<string>();
    for (const client of clients) {
      const members = await client.zrangeBuffer(await keyOf(client, 'd', 'orders'), '0', '-1');
      for (const id of members) dead.add(decodeId(id));
      expect(await Audit.of(client, namespace)).toEqual([]);
    }
    console.log(
      `seed ${SEED}: accepted ${journal.count('accepted')}, delivered ${journal.count('delivered')}, dead ${dead.size}, ` +
        `failed calls ${journal.count('failed')}, restarts of both servers ${journal.count('fault')}`,
    );
    const rules = {
      seed: SEED,
      ttrMs: TTR_S * 1_000,
      tries: TRIES,
      freeRetries: FREE_RETRIES,
      mayRepeat: false,
    };
    return check({ rules: { ...rules, dead: [...dead] }, entries: journal.entries });
  }

  /** In each pool in order, and all there; and so they are given out, the pool first that is drained. */
  async function expectNumbers(drained: 0 | 1): Promise<void> {
    const published = await numbering;
    const lines = await Promise.all(clients.map(numbersIn));
    console.log(`${published} numbered jobs, by pool ${lines.map((line) => line.length).join(' + ')}`);
    for (const line of lines) {
      expect(line.length).toBeGreaterThan(10);
      expect(line).toEqual([...line].sort((a, b) => a - b));
    }
    const known = [...new Set(lines.flat())].sort((a, b) => a - b);
    expect(known.slice(0, published)).toEqual(Array.from({ length: published }, (_, i) => i));
    expect(await takeAll()).toEqual([...lines[drained]!, ...lines[1 - drained]!]);
  }

  async function takeAll(): Promise<number[]> {
    const got: number[] = [];
    for (;;) {
      const url = `${servers[0]!.url}/api/${namespace}/numbered?count=100&ttr=600`;
      const answer = await fetch(url, { headers: { 'X-Token': token } });
      if (answer.status === 404) return got;
      const jobs = (await answer.json()) as { data: string }[];
      got.push(...jobs.map(({ data }) => Number(Buffer.from(data, 'base64').toString())));
    }
  }

  it('T43: loses and duplicates nothing while the move is started, paused, resumed and cancelled', async () => {
    for (let round = 0; round < PASSES; round++)
      for (const step of ['second', 'first', 'second', 'first'] as const) await enter(step);

    expect(await verdictOf()).toEqual(SOUND);
    await expectNumbers(1);
  });

  it('T43: loses nothing when the setting is removed and set again', async () => {
    for (let round = 0; round < PASSES; round++)
      for (const step of ['second', 'out', 'second'] as const) await enter(step);

    // A server without the setting does not know the jobs of the second Redis: what was leased there is not acknowledged, and comes again.
    const verdict = await verdictOf();
    const duplicated = verdict.duplicated.filter((found) => !found.endsWith('after it was done'));
    expect({ ...verdict, duplicated }).toEqual(SOUND);
    await expectNumbers(0);
  });
});
