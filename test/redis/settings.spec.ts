import { QueueEngine } from '../../src/engine/engine.js';
import { BUILT_IN, SETTING_KEYS, SETTINGS } from '../../src/engine/settings/known.js';
import { waitFor } from '../support/redis.js';
import { EngineFixture } from './fixture.js';

const DAY_MS = 86_400_000;

describe('settings of a namespace', () => {
  let f: EngineFixture;
  beforeEach(async () => {
    f = await EngineFixture.withClock({ stats: { historyDays: 7, maxQueues: 10 } });
  });
  afterEach(() => f.close());

  const settings = (): QueueEngine['settings'] => f.engine.settings;

  it('are their defaults until something is chosen, and again when that is taken back', async () => {
    expect(await settings().of(f.ns)).toEqual({ ...BUILT_IN, history_days: 7 });
    await settings().set(f.ns, 'grace_ms', 500);
    await settings().set(f.ns, 'retention_count', 0);

    expect(await settings().of(f.ns)).toEqual({
      ...BUILT_IN,
      history_days: 7,
      grace_ms: 500,
      retention_count: 0,
    });
    expect(await settings().chosen(f.ns)).toEqual({ grace_ms: 500, retention_count: 0 });
    expect(await settings().unset(f.ns, 'grace_ms')).toBe(true);
    expect(await settings().unset(f.ns, 'grace_ms')).toBe(false);
    expect(await settings().chosen(f.ns)).toEqual({ retention_count: 0 });
  });

  it('take what lies within their bounds, and nothing else', async () => {
    for (const key of SETTING_KEYS) {
      const { min, max } = SETTINGS[key];
      for (const value of [min - 1, max + 1, min + 0.5, Number.NaN]) {
        const refused = settings().set(f.ns, key, value);
        await expect(refused).rejects.toMatchObject({ code: 'invalid_argument' });
        await expect(refused).rejects.toThrow(key);
      }
      for (const value of [min, max]) await settings().set(f.ns, key, value);
      expect(await settings().chosen(f.ns)).toMatchObject({ [key]: max });
    }
    await expect(settings().set(f.ns, 'toString', 1)).rejects.toMatchObject({ code: 'invalid_argument' });
    await expect(settings().unset(f.ns, 'color')).rejects.toMatchObject({ code: 'invalid_argument' });
    await expect(settings().set('a}b', 'grace_ms', 1)).rejects.toMatchObject({ code: 'invalid_argument' });
  });

  it('hold at once on the server that changes them, and within a second on others', async () => {
    const other = new QueueEngine(f.pool);
    expect(await other.settings.of(f.ns)).toMatchObject({ ttr_ms: 60_000 });
    await settings().of(f.ns);
    await settings().set(f.ns, 'ttr_ms', 5_000);

    expect(await settings().of(f.ns)).toMatchObject({ ttr_ms: 5_000 });
    await waitFor(async () => (await other.settings.of(f.ns)).ttr_ms === 5_000, 10_000);
  });

  it('cost a command a second at most, however often they are asked for', async () => {
    let commands = 0;
    const read = Reflect.get(f.pool, 'read');
    Reflect.set(f.pool, 'read', (...args: Parameters<typeof read>) => {
      commands += 1;
      return read.apply(f.pool, args);
    });
    const beganMs = performance.now();
    await Promise.all(Array.from({ length: 100 }, async () => settings().of(f.ns)));
    for (let i = 0; i < 100; i++) expect(settings().of(f.ns)).not.toBeInstanceOf(Promise);

    expect(commands).toBeLessThanOrEqual(1 + (performance.now() - beganMs) / 1_000);
  });

  it('are asked for anew after a failure', async () => {
    const read = Reflect.get(f.pool, 'read');
    Reflect.set(f.pool, 'read', () => Promise.reject(new Error('away')));
    await expect(settings().of(f.ns)).rejects.toThrow('away');
    Reflect.set(f.pool, 'read', read);

    expect(await settings().of(f.ns)).toMatchObject({ grace_ms: 10_000 });
  });

  it('outlive the queues of their namespace, which is forgotten as any other', async () => {
    await settings().set(f.ns, 'grace_ms', 500);
    await f.publish('q');
    const [job] = await f.reserve('q');
    await f.engine.ack(f.ns, 'q', job!.id);
    f.nowMs += 60_000;
    await f.engine.tidyNow(f.ns);

    expect(await f.keys()).toEqual([`{${f.ns}}:settings`]);
    expect(await f.engine.namespaces()).not.toContain(f.ns);
    await f.publish('q');
    expect(await new QueueEngine(f.pool).settings.of(f.ns)).toMatchObject({ grace_ms: 500 });
  });

  it('say how long the statistics are kept: those to come, and those that there are', async () => {
    const today = Math.floor(f.nowMs / DAY_MS);
    const count = async (): Promise<void> => {
      f.engine.stats.of(f.ns, 'q').failures += 1;
      await f.engine.stats.flush();
    };
    const endOf = (day: number): Promise<unknown> => f.pool.read('PEXPIRETIME', f.pool.keys.day(f.ns, day));
    f.nowMs -= 2 * DAY_MS;
    await count();
    f.nowMs += 2 * DAY_MS;
    await count();
    expect(await endOf(today - 2)).toBe((today - 2 + 8) * DAY_MS);

    await settings().set(f.ns, 'history_days', 3);
    expect(await endOf(today - 2)).toBe((today - 2 + 4) * DAY_MS);
    expect(await endOf(today)).toBe((today + 4) * DAY_MS);
    await settings().set(f.ns, 'history_days', 1);
    expect((await f.engine.stats.read(f.ns, 'q', today - 2)).failures).toBe(0);
    await count();
    expect((await f.engine.stats.read(f.ns, 'q', today)).failures).toBe(2);
    expect(await endOf(today)).toBe((today + 2) * DAY_MS);

    await settings().set(f.ns, 'history_days', 0);
    await count();
    expect(await f.keys()).toEqual([`{${f.ns}}:settings`]);
    await settings().unset(f.ns, 'history_days');
    await count();
    expect(await endOf(today)).toBe((today + 8) * DAY_MS);
  });
});
