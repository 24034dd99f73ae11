import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { TokenKeys } from '../../src/auth/token-keys.js';
import { Keys } from '../../src/redis/keys.js';
import { RedisPool } from '../../src/redis/pool.js';
import {
  CLUSTER_COMMANDS,
  COMMANDS,
  LATER_COMMANDS,
  OPTIONAL_COMMANDS,
  requireRights,
  rightsOf,
} from '../../src/redis/rights.js';
import { TestApp } from '../support/app.js';
import { TestCluster } from '../support/cluster.js';
import { startRedis, waitFor, type RedisProcess } from '../support/redis.js';
import { EngineFixture, newJob, silentLog, testPoolOptions } from './fixture.js';

const ROOT = join(import.meta.dirname, '..', '..');
/** Names in the sources that are no commands of a server: of the embedded Redis, of lmstfy's, of Sentinels. */
const OTHERS = ['SENTINEL', 'SHUTDOWN', 'CLIENT', 'CONFIG', 'COMMAND', 'CLUSTER', 'FUNCTION'];

const filesOf = (folder: string, end: string): string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(end) && !/\.spec\.|lmstfy_take_timer/.test(name))
    .map((name) => readFileSync(join(ROOT, folder, name), 'utf8'));

/** The rules in docs/operations.md: for any Redis, and what a Cluster needs besides. */
function documented(): [string[], string[]] {
  const page = readFileSync(join(ROOT, 'docs', 'operations.md'), 'utf8');
  const rules = [...page.matchAll(/ACL SETUSER pumphouse ([^`]*)```/g)].map(([, rule = '']) =>
    rule.trim().split(/\s+/),
  );
  expect(rules).toHaveLength(2);
  return rules as [string[], string[]];
}

const commandsIn = (rule: readonly string[]): string[] =>
  rule.flatMap((entry) => (entry.startsWith('+') ? [entry.slice(1).toUpperCase()] : []));

describe('the Redis rights that a server needs', () => {
  let redis: RedisProcess;
  let admin: Redis;
  beforeAll(async () => {
    redis = await startRedis();
    admin = new Redis(redis.port, '127.0.0.1', { protocol: 2 });
  });
  afterAll(async () => {
    admin.disconnect();
    await redis.stop();
  });

  const setUser = (name: string, ...rule: string[]): Promise<unknown> =>
    admin.call('ACL', 'SETUSER', name, ...rule);
  const rule = (): string[] => documented()[0].map((entry) => entry.replace('PASSWORD', 'pw'));
  const as = (username: string) => testPoolOptions({ url: redis.url, username, password: 'pw' });

  it('are those of the commands in scripts and sources', async () => {
    const known = new Set<string>();
    for (const text of [
      ...filesOf('lua', '.lua'),
      ...['src', 'packages/engine/src'].flatMap((folder) => filesOf(folder, '.ts')),
    ]) {
      for (const [, name = ''] of text.matchAll(/["']([A-Z]{3,})["']/g)) known.add(name);
    }
    const names = [...known].filter((name) => !OTHERS.includes(name));
    const infos = (await admin.call('COMMAND', 'INFO', ...names)) as (unknown[] | null)[];
    const commands = names.filter((_name, i) => infos[i]).sort();
    const listed = [COMMANDS, CLUSTER_COMMANDS, OPTIONAL_COMMANDS, LATER_COMMANDS].join(' ').split(' ');
    const sent = 'CLIENT|SETNAME SELECT SCAN SUBSCRIBE SSUBSCRIBE SUNSUBSCRIBE EVALSHA WAITAOF'.split(' ');
    expect(commands.filter((name) => !listed.includes(name))).toEqual([]);
    expect(
      listed.filter((name) => !name.includes('|') && !commands.includes(name) && !sent.includes(name)),
    ).toEqual([]);
  });

  it('are those of the documentation', () => {
    const [any, cluster] = documented();
    expect(commandsIn(any).sort()).toEqual(`${COMMANDS} ${OPTIONAL_COMMANDS}`.split(' ').sort());
    expect(commandsIn(cluster).sort()).toEqual(CLUSTER_COMMANDS.split(' ').sort());
  });

  it('are reported one by one if missing', async () => {
    await setUser('single', ...rule());
    const one = new Redis(redis.port, '127.0.0.1', { protocol: 2, username: 'single', password: 'pw' });
    const send = (...args: readonly unknown[]): Promise<unknown> =>
      one.call(...(args as [string, ...string[]]));
    const check = (): Promise<void> => requireRights(send, rightsOf(new Keys(''), false, []));
    await check();
    for (const name of COMMANDS.split(' ')) {
      await setUser('single', `-${name.toLowerCase()}`);
      const shown =
        name === 'EVAL'
          ? /no permissions to run the 'eval' command/
          : `${name.replace('|', ' ')}${name === 'SET' ? ' {pumphouse}:meta' : ''}`;
      await expect(check()).rejects.toThrow(shown);
      await setUser('single', `+${name.toLowerCase()}`);
    }
    one.disconnect();
  });

  it.each([
    ['a command', ['-zadd', '-xadd'], 'the Redis user may not run: XADD, ZADD.'],
    ['scripts', ['-eval'], 'EVAL was refused'],
    ['INFO', ['-info'], 'INFO was refused'],
    ['the keys of namespaces', ['resetkeys', '~pumphouse*'], 'GET {pumphouse}:meta, SET {pumphouse}:meta'],
    ['to write its own keys', ['resetkeys', '~{*', '%R~pumphouse*'], 'may not run: SET pumphouse:format.'],
    ['the channel', ['resetchannels'], 'SUBSCRIBE pumphouse:wake, PUBLISH pumphouse:wake'],
  ])('stop the start if one is missing: %s', async (_title, changes, named) => {
    await setUser('poor', ...rule(), ...changes);
    const opening = RedisPool.connect('fresh', as('poor'), silentLog);
    await expect(opening).rejects.toThrow(named);
    await expect(opening).rejects.toThrow(/the Redis of pool fresh at .* cannot be used/);
    expect(await admin.keys('*')).toEqual([]);
    await admin.call('ACL', 'DELUSER', 'poor');
  });

  it('are reported if missing for the Redis of the tokens', async () => {
    await setUser('poor', ...rule(), 'resetkeys', '~{*', '~pumphouse:*');
    const pool = await RedisPool.connect('tokens', as('poor'), silentLog);
    await expect(pool.need([new TokenKeys('').limited])).rejects.toThrow(
      /the Redis of pool tokens at .* cannot be used: .*SET pumphouse-auth:{tokens}:limited/,
    );
    await pool.close();
    await admin.call('ACL', 'DELUSER', 'poor');
  });

  it('suffice for all operations, and are checked at runtime: 503, and `/readyz` names what is missing', async () => {
    await setUser('exact', ...rule());
    await admin.call('ACL', 'LOG', 'RESET');
    const app = await TestApp.start({
      PUMPHOUSE_POOLS__DEFAULT__URL: redis.url.replace('//', '//exact:pw@'),
    });
    const v1 = (method: string, path: string, body?: object) =>
      app.call(method, `/v1/${app.namespace}/${path}`, {
        headers: { 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      });
    const good = async (answer: Promise<{ status: number; text: string }>): Promise<void> => {
      const { status, text } = await answer;
      expect([status < 300, text]).toEqual([true, text]);
    };
    try {
      // The API of lmstfy.
      for (const path of ['q?tries=1', 'q?delay=3000', 'q?ttl=1&tries=3']) await good(app.put(path));
      await good(app.get('q/peek'));
      const { json } = await app.get('q?ttr=1');
      await good(app.delete(`q/job/${(json as { job_id: string }).job_id}`));
      // The native API.
      const jobs = [
        { queue: 'n', data: 1 },
        {
          queue: 'n',
          data: 2,
          id: 'chosen',
          type: 'mail',
          tags: ['a'],
          unique: { key: 'u', mode: 'existing' },
          concurrency_key: 'k',
          priority: 3,
        },
        { queue: 'n', data: 3, depends_on: ['chosen'] },
        { queue: 'n', data: 4, delay_ms: 3_000_000, ttl_ms: 9_000_000, retention_ms: 60_000 },
      ];
      await good(v1('POST', 'jobs', { jobs }));
      await good(v1('PATCH', 'queues/n', { max_running: 5, rate: { rate: 100, period_ms: 1_000 } }));
      await good(v1('GET', 'queues'));
      await good(v1('GET', 'jobs/chosen'));
      await good(v1('PATCH', 'jobs/chosen', { data: 5, tags: ['b'] }));
      await good(v1('GET', 'jobs?tag=b'));
      await good(v1('POST', 'leases', { queues: ['n'], count: 2, worker: 'w', wait_ms: 0 }));
      await good(v1('GET', 'workers'));
      await good(v1('GET', 'stats?queue=n'));
      await good(v1('POST', 'queues/n/pause'));
      await good(v1('POST', 'queues/n/resume'));
      await good(app.admin('GET', '/loops'));
      // The loops, with what expired meanwhile.
      const other = await EngineFixture.open({}, as('exact'));
      const done = await other.engine.publish(other.ns, 'w', newJob({ tries: 1 }));
      const waiting = other.lease('wait', { waitMs: 5_000 });
      await app.engine.publish(other.ns, 'wait', newJob());
      expect(await waiting).toHaveLength(1);
      expect(done).not.toBe('');
      await other.close();
      await waitFor(async () => (await app.get('q/deadletter')).status === 200, 10_000);
      await good(v1('POST', 'queues/n/purge', { states: ['ready', 'scheduled', 'leased', 'blocked'] }));
      const loops = (await app.admin('GET', '/loops')).text;
      expect(loops).not.toMatch(/NOPERM|permission/);
      expect(await admin.call('ACL', 'LOG')).toEqual([]);

      // A right is taken away.
      await setUser('exact', '-zadd');
      const statuses: number[] = [];
      const refused = await waitFor(async () => {
        const answer = await app.put('q?delay=5');
        statuses.push(answer.status);
        return answer.status === 503 ? answer : undefined;
      });
      expect(statuses).not.toContain(500);
      expect(refused.text).not.toContain('ZADD');
      const named = await waitFor(async () => {
        const answer = await app.get('/readyz');
        return answer.text.includes('ZADD') ? answer : undefined;
      }, 15_000);
      expect(named).toMatchObject({ status: 503, json: { status: 'unavailable' } });
      expect(named.text).toContain('default: down (the Redis user may not run: ZADD.');
      // Nothing is half written by scripts that could do a part of their work.
      const before = await admin.dbsize();
      expect((await app.put('q')).status).toBe(503);
      expect(await admin.dbsize()).toBe(before);
      await setUser('exact', '+zadd');
      await waitFor(async () => (await app.get('/readyz')).status === 200, 15_000);
      await good(app.put('q?delay=5'));
    } finally {
      await app.stop();
    }
  });
});

describe('the rights in a Cluster', () => {
  it('are those of the documentation', async () => {
    const cluster = await TestCluster.start();
    try {
      const [any, more] = documented();
      const whole = [...any.map((entry) => entry.replace('PASSWORD', 'pw')), ...more];
      for (const { redis } of cluster.masters) await redis.call('ACL', 'SETUSER', 'exact', ...whole);
      const options = {
        ...{ allowUnsafe: false, keyPrefix: '', commandTimeoutMs: 8_000, clusterNodes: cluster.addresses },
        ...{ username: 'exact', password: 'pw' },
      };
      const f = EngineFixture.over(await RedisPool.connect('default', options, silentLog));
      const waiting = f.lease('q', { waitMs: 10_000 });
      await f.publishFromOtherEngine('q');
      const [job] = await waiting;
      expect(await f.engine.ack(f.ns, 'q', job!.id, job!.lease)).toBe(true);
      await f.put('x', { type: 'mail', tags: ['a'] });
      await f.pool.need([]);
      expect(f.pool.status).toEqual({ up: true, degraded: [] });
      await f.close();
      for (const { redis } of cluster.masters) expect(await redis.call('ACL', 'LOG')).toEqual([]);
    } finally {
      await cluster.stop();
    }
  });
});
