import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { importLmstfy, type ImportOptions } from '../../packages/cli/src/import/command.js';
import { Tally } from '../../packages/cli/src/import/counts.js';
import { ImportLock } from '../../packages/cli/src/import/lock.js';
import { LmstfySource } from '../../packages/cli/src/import/source.js';
import { importTokens } from '../../packages/cli/src/import/tokens.js';
import { Transfer } from '../../packages/cli/src/import/transfer.js';
import { tokenDigest } from '../../src/auth/credentials.js';
import { TokenStore } from '../../src/auth/token-store.js';
import type { PeekedJob } from '../../src/engine/core/decode.js';
import type { Output } from '../../packages/cli/src/print.js';
import { EngineFixture } from '../engine/fixture.js';
import { TestApp } from '../support/app.js';
import { LmstfyStore } from '../support/lmstfy-store.js';
import { TestTerminal } from '../support/terminal.js';
import { type RedisProcess, randomNamespace, startRedis, testRedisUrl, waitFor } from '../support/redis.js';

const TOKEN = 'a-token-of-lmstfy-that-is-long';

describe('pumphouse import-lmstfy', () => {
  let redis: RedisProcess;
  let lmstfy: LmstfyStore;
  let f: EngineFixture;
  let ns: string;
  beforeAll(async () => {
    redis = await startRedis();
    lmstfy = new LmstfyStore(redis.url);
  });
  afterAll(async () => {
    lmstfy.close();
    await redis.stop();
  });
  beforeEach(async () => {
    await lmstfy.redis.flushall(); // its own Redis
    f = await EngineFixture.open();
    ns = f.ns;
  });
  afterEach(() => f.close());

  /** What the last run wrote on the standard error. */
  let errors = '';

  /** What one run counted in the namespace. */
  async function run(
    options: Partial<ImportOptions> = {},
    signal = new AbortController().signal,
    terminal: Pick<Output, 'confirm' | 'progressTo'> = {},
  ): Promise<unknown> {
    let out = '';
    const usual = { from: redis.url, fromPool: 'default', pool: 'default', to: testRedisUrl(), isJson: true };
    const flags = { isDrain: false, isFollow: false, isStopped: false, isDryRun: false, isSameRedis: false };
    const session = {
      out: (text: string) => void (out += text),
      err: (text: string) => void (errors += text),
      signal,
      ...terminal,
    };
    errors = '';
    await importLmstfy({ ...usual, ...flags, isConfirmed: true, ...options }, session);
    return (JSON.parse(out) as { namespaces: Record<string, unknown> }).namespaces[ns];
  }

  const peek = (id: string, queue = 'q'): Promise<PeekedJob | null> => f.engine.jobs.peekJob(ns, queue, id);

  /** One job in each state that there is, and ids by name. */
  async function fill(): Promise<Record<string, string>> {
    const ids: Record<string, string> = {};
    ids['done'] = await lmstfy.publish(ns, 'q');
    ids['spent'] = await lmstfy.publish(ns, 'q', { tries: 1, ttlS: 0 });
    ids['leased'] = await lmstfy.publish(ns, 'q', { tries: 3 });
    const expiring = [await lmstfy.publish(ns, 'q', { ttlS: 500 }), await lmstfy.publish(ns, 'q')];
    // In this order: the one that will be done, the spent, the leased one, and two whose leases end at once.
    for (const ttrS of [60, 600, 700, 0, 0]) expect(await lmstfy.consume(ns, 'q', ttrS)).not.toBeNull();
    await lmstfy.pump();
    await lmstfy.ack(ns, 'q', ids['done']);
    ids['dead1'] = (await lmstfy.redis.lindexBuffer(`d/${ns}/q`, -1))!.toString('latin1', 4);
    ids['dead2'] = expiring.find((id) => id !== ids['dead1'])!;
    ids['first'] = await lmstfy.publish(ns, 'q', { body: Buffer.from([0, 255, 10]), tries: 5, ttlS: 1_000 });
    ids['second'] = await lmstfy.publish(ns, 'q', { attributes: { a: 'ü', b: '"' }, ttlS: 0, body: 'two' });
    ids['later'] = await lmstfy.publish(ns, 'q', { delayS: 5_000, tries: 2, ttlS: 6_000 });
    ids['acked'] = await lmstfy.publish(ns, 'q');
    await lmstfy.ack(ns, 'q', ids['acked']);
    ids['other'] = await lmstfy.publish(ns, 'other', { body: '{"body":"eA==","attributes":null}' });
    await lmstfy.token('default', ns, TOKEN, 'the mailer');
    await lmstfy.limit('default', ns, TOKEN, { read: 10, write: 20, interval: 30 });
    await lmstfy.token('elsewhere', ns, 'a-token-of-another-pool', 'x');
    return ids;
  }

  const STORED = { ready: 3, delayed: 1, leased: 2, dead: 2, tokens: 1, limits: 1 };

  /** Everything as it was there. */
  async function expectAll(ids: Record<string, string>): Promise<void> {
    const nowMs = Date.now();
    const job = async (name: string, queue?: string): Promise<PeekedJob> => (await peek(ids[name]!, queue))!;
    expect(await job('first')).toMatchObject({ state: 'ready', triesLeft: 5, attributes: null, attempts: 0 });
    expect([...(await job('first')).body]).toEqual([0, 255, 10]);
    expect((await job('first')).ttlLeftMs).toBeGreaterThan(900_000);
    expect((await job('first')).ttlLeftMs).toBeLessThanOrEqual(1_000_000);
    expect(await job('second')).toMatchObject({ ttlLeftMs: 0, attributes: { a: 'ü', b: '"' } });
    expect((await job('second')).body.toString()).toBe('two');
    expect(await job('later')).toMatchObject({ state: 'scheduled', triesLeft: 2 });
    expect(await job('leased')).toMatchObject({ state: 'leased', triesLeft: 2, attempts: 1 });
    expect(await job('spent')).toMatchObject({ state: 'leased', triesLeft: 0, ttlLeftMs: 0 });
    for (const name of ['dead1', 'dead2'])
      expect(await job(name)).toMatchObject({ state: 'dead', ttlLeftMs: 0 });
    expect((await job('other', 'other')).body.toString()).toBe('{"body":"eA==","attributes":null}');
    expect(await f.engine.deadLetter.head(ns, 'q')).toEqual({ id: ids['dead1'], size: 2 });
    const dueMs = async (kind: 's' | 'l'): Promise<number[]> => {
      const number = Number(await f.pool.read('HGET', f.pool.keys.namespace(ns).queues, 'q'));
      const flat = (await f.pool.read(
        'ZRANGE',
        f.pool.keys.queue(ns, kind, number),
        0,
        -1,
        'WITHSCORES',
      )) as string[];
      return flat
        .filter((_text, i) => i % 2 === 1)
        .map((score) => Math.round((Number(score) - nowMs) / 100_000));
    };
    expect([await dueMs('s'), await dueMs('l')]).toEqual([[50], [6, 7]]);
    expect(await peek(ids['done']!)).toBeNull();
    expect((await f.lease('q', { count: 9 })).map(({ id }) => id)).toEqual([ids['first'], ids['second']]);
  }

  it('counts everything in a dry run and changes nothing', async () => {
    await fill();
    const before = await lmstfy.contents();

    // Two of the entries mean jobs that are done: only who looks at each finds that out.
    expect(await run({ isDryRun: true })).toMatchObject({ ...STORED, ready: 4, leased: 3 });
    expect(await lmstfy.contents()).toEqual(before);
    expect(await f.keys()).toEqual([]);
  });

  it('copies everything and does not change the source', async () => {
    const ids = await fill();
    const before = await lmstfy.contents();

    expect(await run()).toMatchObject({ ...STORED, known: 0, gone: 2 });
    expect(await lmstfy.contents()).toEqual(before);
    await expectAll(ids);
  });

  it('copies only new jobs in a second run, and no job acknowledged since the first', async () => {
    const ids = await fill();
    await run();
    await f.engine.ack(ns, 'q', ids['first']!);
    await f.engine.ack(ns, 'q', ids['leased']!);
    const fresh = await lmstfy.publish(ns, 'q');

    expect(await run()).toMatchObject({
      ready: 1,
      delayed: 0,
      leased: 0,
      dead: 0,
      known: 8,
      tokens: 0,
      limits: 0,
    });
    expect(await peek(ids['first']!)).toBeNull();
    expect(await peek(fresh)).not.toBeNull();
  });

  it('drains everything when lmstfy has stopped', async () => {
    const ids = await fill();

    expect(await run({ isDrain: true, isStopped: true })).toMatchObject({ ...STORED, left: 0, gone: 2 });
    await expectAll(ids);
    const left = await lmstfy.redis.keys('*');
    expect(left.filter((key) => !/^(m|tk)\/|^__throttler/.test(key))).toEqual([]);
    expect(await f.keys()).not.toContain(f.pool.keys.namespace(ns).imported);
  });

  it('leaves leased jobs to a running lmstfy, and moves a job when its lease has expired', async () => {
    const ids = await fill();

    expect(await run({ isDrain: true })).toMatchObject({ ready: 3, delayed: 1, leased: 0, dead: 2, left: 3 });
    expect(await peek(ids['leased']!)).toBeNull();
    await lmstfy.pump(Math.floor(Date.now() / 1_000) + 650); // the one without a try left dies
    expect(await run({ isDrain: true })).toMatchObject({ ready: 0, dead: 1, leased: 0, left: 1 });
    const [member] = await lmstfy.redis.zrangeBuffer('timer_set', '0', '-1');
    await lmstfy.redis.zadd('timer_set', 1_000, member!); // long over, and no server moved it
    expect(await run({ isDrain: true })).toMatchObject({ leased: 1, left: 0 });
    await f.engine.pumpNow(ns);
    expect(await peek(ids['leased']!)).toMatchObject({ state: 'ready', triesLeft: 2 });
  });

  it('imports only the selected namespaces', async () => {
    const other = randomNamespace();
    const ids = [await lmstfy.publish(ns, 'q'), await lmstfy.publish(ns, 'q', { delayS: 100 })];
    await lmstfy.publish(other, 'q');
    await lmstfy.publish(other, 'q', { delayS: 100 });

    expect(await run({ isDrain: true, namespaces: [ns] })).toMatchObject({ ready: 1, delayed: 1 });
    for (const id of ids) expect(await peek(id)).not.toBeNull();
    expect(await f.engine.queues.names(other)).toEqual([]);
    expect(await lmstfy.redis.zcard('timer_set')).toBe(1);
  });

  it("finds queues that lmstfy's lists do not have, and keeps unreadable entries in a list", async () => {
    const id = await lmstfy.publish(ns, 'q');
    await lmstfy.redis.del('m/ns', `m/ns/${ns}`);
    await lmstfy.redis.lpush(`q/${ns}/q`, 'nonsense');

    expect(await run({ isDrain: true })).toMatchObject({ ready: 1, unreadable: 1 });
    expect(await peek(id)).not.toBeNull();
    expect(await lmstfy.redis.lrange('pumphouse:import:unreadable', 0, -1)).toEqual(['nonsense']);
  });

  it('gives a job another id if its id exists in another queue', async () => {
    const id = await lmstfy.publish(ns, 'q', { body: 'one' });
    await lmstfy.redis.set(`j/${ns}/p/${id}`, 'two');
    await lmstfy.redis.lpush(`q/${ns}/p`, (await lmstfy.redis.lindexBuffer(`q/${ns}/q`, 0))!);

    expect(await run({ isDrain: true })).toMatchObject({ ready: 2 });
    const jobs = [...(await f.lease('p')), ...(await f.lease('q'))];
    expect(jobs.map(({ body }) => body.toString()).sort()).toEqual(['one', 'two']);
  });

  it('keeps tokens and limits valid for clients', async () => {
    const ids = await fill();
    await run({ isDrain: true, isStopped: true });
    const app = await TestApp.start();
    try {
      const options = { token: TOKEN };
      expect(await app.get(`/api/${ns}/q/job/${ids['first']!}`, options)).toMatchObject({ status: 200 });
      // A worker that had its job from lmstfy acknowledges it here.
      expect((await app.delete(`/api/${ns}/q/job/${ids['leased']!}`, options)).status).toBe(204);
      expect(await peek(ids['leased']!)).toBeNull();
      expect(await app.admin('GET', `/token/${ns}`)).toMatchObject({
        json: { tokens: { [TOKEN]: 'the mailer' } },
      });
      expect(await app.admin('GET', `/token/${ns}/${TOKEN}/limit`)).toMatchObject({
        json: { read: 10, write: 20, interval: 30 },
      });
    } finally {
      await app.stop();
    }
  });

  it("imports jobs and tokens of lmstfy's pool blue into the pool green", async () => {
    await lmstfy.token('blue', ns, TOKEN, 'x');
    await lmstfy.publish(ns, 'q');
    const file = join(mkdtempSync(join(tmpdir(), 'pumphouse-import-')), 'two-pools.toml');
    const url = testRedisUrl();
    writeFileSync(file, `[pools.default]\nurl = "${url}"\n[pools.green]\nurl = "${url}"\n`);

    const options = { config: file, to: undefined, fromPool: 'blue', pool: 'green', tokensFrom: redis.url };
    expect(await run(options)).toMatchObject({ tokens: 1, ready: 1 });
    rmSync(dirname(file), { recursive: true });
    const app = await TestApp.start({ PUMPHOUSE_POOLS__GREEN__URL: url });
    expect((await app.get(`/api/${ns}/q`, { token: `green:${TOKEN}` })).status).toBe(200);
    await app.stop();
  });

  it("imports into lmstfy's own Redis with --same-redis", async () => {
    const ids = await fill();
    const here = await EngineFixture.open({}, { url: redis.url });

    expect(await run({ to: redis.url, isSameRedis: true, isDrain: true, isStopped: true })).toMatchObject(
      STORED,
    );
    expect(await here.engine.jobs.peekJob(ns, 'q', ids['first']!)).toMatchObject({
      state: 'ready',
      triesLeft: 5,
    });
    expect(await lmstfy.redis.keys('j/*')).toEqual([]);
    await here.close();
  });

  it('imports nothing more after a signal, and continues when it is started again', async () => {
    for (let i = 0; i < 10; i++) await lmstfy.publish(ns, 'q');
    const ended = AbortSignal.abort(new Error('SIGINT: interrupted'));
    for (const isDrain of [true, false])
      await expect(run({ isDrain }, ended)).rejects.toThrow('SIGINT: interrupted');
    expect(await lmstfy.redis.llen(`q/${ns}/q`)).toBe(10);
    expect(await lmstfy.redis.exists('pumphouse:import:lock')).toBe(0);
    expect(await run({ isDrain: true })).toMatchObject({ ready: 10 });
  });

  it('follows a running lmstfy with --follow until it is stopped', async () => {
    const halt = new AbortController();
    const following = run({ isDrain: true, isFollow: true }, halt.signal);
    const ids: string[] = [];
    for (let i = 0; i < 30; i++) {
      ids.push(await lmstfy.publish(ns, i % 3 === 0 ? 'p' : 'q', { delayS: i % 2 === 0 ? 0 : 600 }));
      if (i === 10) await waitFor(() => peek(ids[0]!, 'p'), 10_000);
    }
    await waitFor(
      async () => (await Promise.all(ids.map((id, i) => peek(id, i % 3 === 0 ? 'p' : 'q')))).every(Boolean),
      10_000,
    );
    halt.abort();

    expect(await following).toMatchObject({ ready: 15, delayed: 15, gone: 0 });
    expect(await lmstfy.redis.exists('pumphouse:import:lock')).toBe(0);
  });

  it('brings no token again that was deleted while it follows', async () => {
    await lmstfy.token('default', ns, TOKEN, 'x');
    const id = { pool: 'default', namespace: ns, token: TOKEN };
    const store = new TokenStore(f.pool);
    const source = await LmstfySource.open(redis.url);
    const brought = new Set<string>();
    const plan = { fromPool: 'default', pool: 'default', namespaces: new Set([ns]) };
    const bring = () => importTokens(source, store, plan, new Tally(), brought);
    await bring();
    await lmstfy.limit('default', ns, TOKEN, { read: 1, write: 2, interval: 3 });
    await bring();
    const digest = tokenDigest('default', ns, TOKEN);
    expect((await store.find(digest))?.limit).toMatchObject({ read: 1 });
    await store.deleteLimit(id);
    await bring();
    expect((await store.find(digest))?.limit).toBeNull();
    await store.delete(id);
    await bring();
    expect(await store.find(digest)).toBeNull();
    source.close();
  });

  it('corrects times by the difference of the clocks', async () => {
    const id = await lmstfy.publish(ns, 'q', { delayS: 600 });
    const source = await LmstfySource.open(redis.url);
    // The other Redis is a minute behind.
    jest.spyOn(source, 'nowMs').mockResolvedValue(Date.now() - 60_000);
    const transfer = new Transfer(
      source,
      f.engine,
      { namespaces: null, isStopped: true, signal: new AbortController().signal },
      new Tally(),
    );
    await transfer.copy();
    const job = await f.engine.jobs.find(ns, id);
    expect(Math.abs(job!.dueAtMs! - (Date.now() + 660_000))).toBeLessThan(5_000);
    source.close();
  });

  it('refuses a second drain of the same Redis', async () => {
    const source = await LmstfySource.open(redis.url);
    const lock = await ImportLock.take(source);
    await expect(ImportLock.take(source, 100)).rejects.toThrow(
      'another import is draining this Redis: only one may',
    );
    await lock.release();
    await (await ImportLock.take(source, 0)).release();
    source.close();
  });

  /** A configuration file, deleted at the end of the test. */
  async function withFile(text: string, play: (file: string) => Promise<void>): Promise<void> {
    const folder = mkdtempSync(join(tmpdir(), 'pumphouse-import-'));
    try {
      writeFileSync(join(folder, 'file.toml'), text);
      await play(join(folder, 'file.toml'));
    } finally {
      rmSync(folder, { recursive: true });
    }
  }

  it.each<[string, () => string]>([
    ['its address', () => redis.url],
    ['another name', () => redis.url.replace('127.0.0.1', 'localhost')],
    ['another address', () => redis.url.replace('127.0.0.1', '127.1')],
    ['another database', () => `${redis.url}/3`],
  ])("refuses lmstfy's own Redis as the target, by %s", async (_name, url) => {
    await fill();
    const before = await lmstfy.contents();

    await expect(run({ to: url(), isDrain: true, isStopped: true })).rejects.toThrow(
      /^jobs would go into lmstfy's own Redis: .*PUMPHOUSE_POOLS__DEFAULT__URL.*--to.*--same-redis/,
    );
    expect(await lmstfy.contents()).toEqual(before);
  });

  it("refuses lmstfy's own Redis as the target by a socket, through a replica, and for tokens", async () => {
    await fill();
    const socket = join(mkdtempSync(join(tmpdir(), 'pumphouse-import-')), 'redis.sock');
    const own = await startRedis({ args: ['--unixsocket', socket] });
    const replica = await startRedis({ args: ['--replicaof', '127.0.0.1', String(own.port)] });
    const data = dirname(dirname(socket));
    try {
      const client = new LmstfyStore(replica.url);
      await waitFor(
        async () => (await client.redis.info('replication')).includes('master_link_status:up'),
        10_000,
      );
      client.close();
      const refused = /^jobs would go into lmstfy's own Redis/;
      await expect(run({ from: replica.url, to: own.url })).rejects.toThrow(refused);
      // The embedded Redis of a data folder is reached at its socket.
      mkdirSync(join(data, 'default'), { recursive: true });
      symlinkSync(socket, join(data, 'default', 'redis.sock'));
      await withFile(`[data]\ndir = "${data}"\n`, async (file) => {
        await expect(run({ from: own.url, to: undefined, config: file })).rejects.toThrow(refused);
      });
      const addr = (url: string): string => new URL(url).host;
      const own2 = `[AdminRedis]\nAddr = "${addr(redis.url)}"\n[Pool.default]\nAddr = "${addr(redis.url)}"\n`;
      await withFile(own2, async (file) => {
        const before = await lmstfy.contents();
        await expect(run({ to: undefined, config: file })).rejects.toThrow(refused);
        await expect(run({ config: file })).rejects.toThrow(
          /^tokens would go into lmstfy's own Redis: .*PUMPHOUSE_TOKENS__URL/,
        );
        expect(await lmstfy.contents()).toEqual(before);
      });
    } finally {
      // The replica first: the other one would wait for it.
      await replica.stop();
      await own.stop();
      rmSync(join(data, 'default'), { recursive: true, force: true });
      rmSync(dirname(socket), { recursive: true, force: true });
    }
  });

  it("refuses the AdminRedis of lmstfy's file as the target of tokens, unless --same-redis or tokens.url is given", async () => {
    await fill();
    const before = await lmstfy.contents();
    const own = await startRedis();
    const other = await startRedis();
    try {
      const addr = (url: string): string => new URL(url).host;
      const admin = `[AdminRedis]\nAddr = "${addr(own.url)}"\n`;
      const text = `[Pool.default]\nAddr = "${addr(redis.url)}"\n[Pool.blue]\nAddr = "${addr(own.url)}"\n`;
      const refused = new RegExp(
        `^tokens would go into lmstfy's own Redis: .*${addr(own.url)}.*PUMPHOUSE_TOKENS__URL.*--same-redis`,
      );
      await withFile(admin + text, async (config) => {
        await expect(run({ config })).rejects.toThrow(refused);
        await expect(run({ config, to: other.url, pool: 'blue' })).rejects.toThrow(refused);
      });
      // Without an AdminRedis the tokens are in the Redis of the default pool.
      await withFile(text.replace(addr(redis.url), addr(own.url)), async (config) => {
        await expect(run({ config, to: other.url, pool: 'blue' })).rejects.toThrow(refused);
      });
      expect(await lmstfy.contents()).toEqual(before);
      const written = new LmstfyStore(own.url);
      expect(await written.redis.dbsize()).toBe(0);
      await withFile(admin + text, async (config) => {
        expect(await run({ config, isSameRedis: true })).toMatchObject({ tokens: 1 });
        expect(await written.redis.dbsize()).toBeGreaterThan(0);
        process.env['PUMPHOUSE_TOKENS__URL'] = other.url;
        expect(await run({ config })).toMatchObject({ tokens: 1 });
      });
      written.close();
    } finally {
      delete process.env['PUMPHOUSE_TOKENS__URL'];
      await Promise.all([own.stop(), other.stop()]);
    }
  });

  it('prints source and target of jobs and tokens without passwords', async () => {
    await run({ isDryRun: true, to: 'redis://ann:secret@10.0.0.10:6380/2', from: redis.url });

    const from = `${redis.url}/0`;
    expect(errors).toBe(
      `jobs:   from ${from} to pool default, redis://10.0.0.10:6380/2\n` +
        `tokens: from ${from} to redis://10.0.0.10:6380/2\n`,
    );
  });

  it('writes nothing without a confirmation on a terminal, or without --yes elsewhere', async () => {
    await fill();
    const before = await lmstfy.contents();
    const keys = await f.keys();
    const never = new AbortController().signal;
    const options = { isDrain: true, isConfirmed: false };

    await expect(run(options)).rejects.toThrow(
      'nothing was imported: without a terminal it starts only with --yes',
    );
    const no = { confirm: () => Promise.resolve(false) };
    await expect(run(options, never, no)).rejects.toThrow(/^nothing was imported$/);
    expect(await lmstfy.contents()).toEqual(before);
    expect(await f.keys()).toEqual(keys);
    const texts: string[] = [];
    const yes = { confirm: (text: string) => Promise.resolve(texts.push(text) > 0) };
    expect(await run(options, never, yes)).toMatchObject({ ready: 3 });
    expect(texts).toEqual(['Import? [y/N] ']);
  });

  it('draws a progress bar of all jobs on a terminal', async () => {
    await fill();
    const terminal = new TestTerminal();
    await run({ isDrain: true, isStopped: true }, undefined, { progressTo: terminal });

    // Two of the ten entries mean jobs that are done.
    expect(terminal.bars.at(-1)).toBe(`[${'='.repeat(30)}] 10/10`);
  });

  it('makes a dry run without a Redis of Pumphouse, and reports an embedded Redis that is not running', async () => {
    await fill();
    const folder = mkdtempSync(join(tmpdir(), 'pumphouse-import-'));
    await withFile(`[data]\ndir = "${folder}"\n`, async (file) => {
      const options = { to: undefined, config: file };
      expect(await run({ ...options, isDryRun: true })).toMatchObject({ ready: 4, tokens: 1 });
      await expect(run(options)).rejects.toThrow(
        /the embedded Redis at .*, which runs only while its server runs: start the server, or give --to/,
      );
    });
    rmSync(folder, { recursive: true });
  });

  it('uses only the address of --to, not the password or database of the configuration file', async () => {
    await lmstfy.publish(ns, 'q');
    const file = '[pools.default]\nurl = "redis://127.0.0.1:1"\nusername = "u"\npassword = "wrong"\ndb = 9\n';
    await withFile(file, async (config) => {
      expect(await run({ config })).toMatchObject({ ready: 1 });
    });
  });

  it('names the option with a Redis that cannot be used, or with an unknown pool', async () => {
    await expect(run({ from: 'redis://127.0.0.1:1' })).rejects.toThrow(/the Redis of --from cannot be used/);
    await expect(run({ pool: 'nowhere', to: undefined })).rejects.toThrow(
      '--pool: there is no pool nowhere; known here: default',
    );
  });
});
