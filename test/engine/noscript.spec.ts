import { Redis } from 'ioredis';
import { functionsOf, scriptLibrary } from '../../src/redis/scripts/texts.js';
import { startRedis, WITHOUT_FUNCTIONS } from '../support/redis.js';
import { EngineFixture } from './fixture.js';

const FORMS = [
  { form: 'functions', args: [], flush: ['FUNCTION', 'FLUSH'], load: 'function\\|load' },
  { form: 'scripts', args: WITHOUT_FUNCTIONS, flush: ['SCRIPT', 'FLUSH'], load: 'eval' },
] as const;

/** How often a command was called. */
async function callsOf(admin: Redis, command: string): Promise<number> {
  const facts = await admin.info('commandstats');
  return Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(facts)?.[1] ?? 0);
}

/** Redis may be told to forget its scripts, and one that takes over may never have had them. */
describe.each(FORMS)('$form that Redis has forgotten', ({ args, flush, load }) => {
  let admin: Redis;
  let f: EngineFixture;
  beforeEach(async () => ({ client: admin, f } = await EngineFixture.alone(args)));
  afterEach(() => f.close());

  const forget = (): Promise<unknown> => admin.call(flush[0], flush[1]);

  it('are sent once as text', async () => {
    await f.publish('q');
    await forget();
    const before = await callsOf(admin, load);
    for (let i = 0; i < 5; i++) await f.publish('q');

    expect(await callsOf(admin, load)).toBe(before + 1);
    expect(await f.size('q')).toBe(6);
  });

  it('run once without duplicate effects', async () => {
    const act = [
      () => f.publish('q', { tries: 2, text: 'one' }),
      () => f.lease('q').then(([job]) => f.engine.undo(f.ns, [job!])),
      () => f.publish('q', { delayMs: 3_600_000 }),
      () => f.engine.pumpNow(f.ns),
      () => f.engine.tidyNow(f.ns),
    ];
    for (const one of act) {
      await forget();
      await one();
    }
    await forget();
    const [job] = await f.lease('q', { count: 5 });

    expect(job).toMatchObject({ attempts: 1, lease: 2, triesLeft: 1 });
    expect(await f.engine.queues.counts(f.ns, ['q'])).toMatchObject([{ ready: 0, scheduled: 1, leased: 1 }]);
    await forget();
    expect(await f.engine.ack(f.ns, 'q', job?.id ?? '', job?.lease)).toBe(true);
  });

  it('are missed by many calls at once: each job is stored once, and leased once', async () => {
    const flushes = setInterval(() => void forget(), 3);
    const ids: string[] = [];
    const got: string[] = [];
    try {
      for (let round = 0; round < 40; round++) {
        const jobs = Array.from({ length: 100 }, (_, i) => f.publish(`q${i % 7}`, { tries: 1 }));
        ids.push(...(await Promise.all(jobs)));
        const leases = Array.from({ length: 100 }, (_, i) => f.lease(`q${i % 7}`, { ttrMs: 600_000 }));
        got.push(...(await Promise.all(leases)).flat().map(({ id }) => id));
      }
    } finally {
      clearInterval(flushes);
    }

    expect(await callsOf(admin, load)).toBeGreaterThan(5);
    expect(got).toHaveLength(ids.length);
    expect(new Set(got)).toEqual(new Set(ids));
  });
});

describe.each(FORMS)('an error in a script: $form', ({ args }) => {
  it('names the line of the file in the repository', async () => {
    const { client: admin, f } = await EngineFixture.alone(args);
    await f.publish('q');
    await admin.del(`{${f.ns}}:queues`);
    await admin.set(`{${f.ns}}:queues`, 'no hash');
    await expect(f.publish('q')).rejects.toThrow(/^WRONGTYPE .* \(lua\/[\w/]+\.lua:\d+\)$/);
    await admin.del(`{${f.ns}}:queues`);
    await f.close();
  });
});

describe('Redis functions', () => {
  it('are used if Redis has them: no script is sent', async () => {
    const { client, f } = await EngineFixture.alone();
    await f.publish('q');
    await f.lease('q');
    expect(await callsOf(client, 'fcall')).toBeGreaterThan(1);
    expect(await callsOf(client, 'evalsha')).toBe(0);
    await f.close();
  });

  it('are removed in other versions by a server that loads its own, once, but not foreign ones', async () => {
    const { client, f } = await EngineFixture.alone();
    const library = (name: string): string =>
      `#!lua name=${name}\nredis.register_function('${name}', function() return 1 end)`;
    const [old, other] = [`${functionsOf('simple/publish')}0123456789abcdef`, 'another_library'];
    for (const name of [old, other]) await client.call('FUNCTION', 'LOAD', library(name));
    const names = async (): Promise<string> => JSON.stringify(await client.call('FUNCTION', 'LIST'));
    await f.publish('q');
    expect(await names()).not.toContain(old);
    expect(await names()).toContain(other);
    expect(await names()).toContain(scriptLibrary('simple/publish')!.name);

    // A server of the old version loads its function again.
    await client.call('FUNCTION', 'LOAD', library(old));
    await client.call('FUNCTION', 'DELETE', scriptLibrary('simple/publish')!.name);
    await f.publish('q');
    expect(await names()).toContain(old);
    await f.close();
  });

  it('keep no state of a call that failed halfway', async () => {
    const { client, f } = await EngineFixture.alone();
    await f.put('p', { type: 't', priority: 5 });
    const [key = ''] = await client.keys(`{${f.ns}}:p*`);
    expect(key).not.toBe('');
    const bytes = await client.dumpBuffer(key);
    await client.set(key, 'wrong');
    await expect(f.put('p', { type: 't', priority: 5 })).rejects.toThrow(/WRONGTYPE/);
    await client.restore(key, 0, bytes, 'REPLACE');
    await f.put('p', { type: 't', priority: 5 });
    const leased = await f.lease('p', { count: 10 });
    expect(leased).toHaveLength(2);
    expect(await f.audit()).toEqual([]);
    await f.close();
  });

  it('are replaced by scripts if the Redis user may not call them', async () => {
    const redis = await startRedis();
    const admin = new Redis(redis.url, { protocol: 2 });
    await admin.call('ACL', 'SETUSER', 'app', 'on', '>secret', '~*', '&*', '+@all', '-fcall', '-function');
    const url = redis.url.replace('//', '//app:secret@');
    const f = await EngineFixture.open({}, { url });
    await f.publish('q');
    expect(await f.drain('q')).toHaveLength(1);
    expect(await callsOf(admin, 'evalsha')).toBeGreaterThan(1);
    await f.close();
    admin.disconnect();
    await redis.stop();
  });

  it('are replaced by scripts if a full Redis does not load them', async () => {
    const { client, f } = await EngineFixture.alone();
    await f.publish('q');
    await client.call('FUNCTION', 'FLUSH');
    await client.config('SET', 'maxmemory', '1mb');
    const [job] = await f.lease('q');
    expect(await f.engine.ack(f.ns, 'q', job!.id, job!.lease)).toBe(true);
    await expect(f.publish('q')).rejects.toMatchObject({ code: 'store_full' });
    await client.config('SET', 'maxmemory', '0');
    await f.publish('q');
    await f.close();
  });
});
