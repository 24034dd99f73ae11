import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { EngineFixture, newJob } from './fixture.js';

/** A lease that no wake-up started would come after less than this, in milliseconds. */
const WAKE_UP_MS = 300;

/** A single waiter fetches a job of its own process right behind the publish. */
describe('a job that a long poll of the same process waits for', () => {
  let f: EngineFixture;
  let client: Redis;
  let monitor: Redis;
  /** The scripts that Redis has run, and the wake-ups. */
  let calls: string[];
  beforeEach(async () => {
    ({ f, client } = await EngineFixture.alone(['--appendonly', 'yes', '--appendfsync', 'always']));
    // Scripts that are sent for the first time are sent twice.
    await f.publish('warm');
    await f.lease('warm');
    await f.lease('warm');
    calls = [];
    monitor = await client.monitor();
    monitor.on('monitor', (_time: string, [command = '', name = '', message = '']: string[]) => {
      if (/^fcall$/i.test(command))
        calls.push(/^pumphouse_(?:simple|extended)_(publish|lease)/.exec(name)?.[1] ?? '');
      if (/^publish$/i.test(command)) calls.push(`wake-up ${message.split(' ')[1] ?? ''}`);
    });
  });
  afterEach(async () => {
    monitor.disconnect();
    await f.close();
  });

  /** Waits that have found the queue empty. */
  async function waiters(count: number): Promise<Promise<string[]>[]> {
    const waits = Array.from({ length: count }, () =>
      f.lease('q', { waitMs: 5_000 }).then((jobs) => jobs.map(({ id }) => id)),
    );
    await sleep(WAKE_UP_MS);
    calls = [];
    return waits;
  }

  /** Publishes and leases; the loops have scripts of their own. */
  const seen = (): string[] => calls.filter((call) => call !== '');

  it('needs one publish and one lease call', async () => {
    const [wait] = await waiters(1);
    const id = await f.publish('q');
    expect(await wait).toEqual([id]);
    await sleep(WAKE_UP_MS);

    // The publish still wakes other servers, from inside of its script.
    expect(seen()).toEqual(['publish', 'wake-up q', 'lease']);
  });

  it('reaches the long poll without a wake-up', async () => {
    const [wait] = await waiters(1);
    // Now Redis knows no server that waits, and sends nothing; a check would find the job in half a second.
    await client.del(f.pool.keys.namespace(f.ns).waiting);
    const id = await f.publish('q');

    expect(await Promise.race([wait, sleep(WAKE_UP_MS)])).toEqual([id]);
    await sleep(WAKE_UP_MS);
    expect(seen()).toEqual(['publish', 'lease']);
  });

  it('needs one publish and one lease call, also with an idempotency key', async () => {
    const [wait] = await waiters(1);
    const id = await f.engine.publish(f.ns, 'q', newJob(), { idempotencyKey: 'once' });
    expect(await wait).toEqual([id]);
    await sleep(WAKE_UP_MS);

    expect(seen()).toEqual(['publish', 'wake-up q', 'lease']);
  });

  it('is not fetched before it is ready', async () => {
    const [wait] = await waiters(1);
    await f.publish('q', { delayMs: 60_000 });
    await sleep(WAKE_UP_MS);
    expect(seen()).toEqual(['publish']);

    const id = await f.publish('q');
    expect(await wait).toEqual([id]);
  });

  it('is fetched by one lease call if several long polls wait', async () => {
    const waits = await waiters(3);
    const ids = [await f.publish('q')];
    await sleep(WAKE_UP_MS);
    expect(seen()).toEqual(['publish', 'wake-up q', 'lease']);

    ids.push(await f.publish('q'), await f.publish('q'));
    expect((await Promise.all(waits)).flat().sort()).toEqual(ids.sort());
  });

  it('is fetched by one lease call among 20 publishes at once, and the other 19 jobs stay', async () => {
    const [wait] = await waiters(1);
    const ids = await Promise.all(Array.from({ length: 20 }, () => f.publish('q')));
    expect(ids).toContain((await wait)?.[0]);
    await sleep(WAKE_UP_MS);

    expect(seen()).toEqual(['publish', 'wake-up q', 'lease']);
    expect(await f.engine.queues.counts(f.ns, ['q'])).toMatchObject([{ ready: 19, leased: 1 }]);
  });

  it('reaches the long poll if it is published with durability aof', async () => {
    const [wait] = await waiters(1);
    const id = await f.engine.publish(f.ns, 'q', newJob(), { durability: 'aof' });
    expect(await wait).toEqual([id]);
  });

  it('leaves the long poll waiting if it is refused', async () => {
    const [wait] = await waiters(1);
    const taken = await f.publish('other');
    await expect(f.publish('q', { id: taken })).rejects.toMatchObject({ code: 'job_exists' });
    await sleep(WAKE_UP_MS);
    const id = await f.publish('q');

    expect(await wait).toEqual([id]);
  });

  it('stays in the queue if the client disconnects in the same turn', async () => {
    const gone = new AbortController();
    const wait = f.lease('q', { waitMs: 5_000, signal: gone.signal });
    await sleep(WAKE_UP_MS);
    const published = f.publish('q');
    gone.abort();
    expect(await wait).toEqual([]);
    const id = await published;
    await sleep(WAKE_UP_MS);

    const [job] = await f.lease('q');
    expect(job).toMatchObject({ id, attempts: 1 });
  });
});
