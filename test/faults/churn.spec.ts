import type { Redis } from 'ioredis';
import { OF_HISTORY } from '../engine/every-kind.js';
import { TestApp } from '../support/app.js';
import { waitFor } from '../support/redis.js';
import { IS_LONG } from '../support/scale.js';

const QUEUES = IS_LONG ? 10_000 : 600;
const AT_ONCE = 50;
const MAX_SERIES = 20;
/** Queues of a day with statistics of their own; the batch of the server and the sum of the others are fields too. */
const MAX_COUNTED = 100;
/** What Redis may keep beyond what it had: tables that it does not shrink at once, and the history of the queues. */
const KEPT_BYTES = 2_000_000 + QUEUES * 400;

describe('queues that are created and removed', () => {
  let client: Redis;
  let app: TestApp;
  beforeAll(async () => {
    ({ client, app } = await TestApp.alone({
      PUMPHOUSE_METRICS__MAX_QUEUES: String(MAX_SERIES),
      PUMPHOUSE_STATS__MAX_QUEUES: String(MAX_COUNTED),
    }));
  });
  afterAll(() => app.stop());

  it(`T36: leave no key but bounded statistics of a day, less than 2 MB and at most ${MAX_SERIES} series behind: ${QUEUES} queues`, async () => {
    const usedBytes = async (): Promise<number> =>
      Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1]);
    const days = (): Promise<string[]> => client.keys(`{${app.namespace}}:t[0-9]*`);
    const keys = async (): Promise<string[]> => {
      const [all, ofDays] = [await client.keys(`{${app.namespace}}*`), await days()];
      return all.filter((key) => !ofDays.includes(key) && !OF_HISTORY.test(key));
    };
    const [bytesBefore, keysBefore] = [await usedBytes(), await keys()];
    for (let i = 0; i < QUEUES; i += AT_ONCE) {
      await Promise.all(
        Array.from({ length: AT_ONCE }, async (_, k) => {
          const id = await app.publish(`churn-${i + k}?ttl=0`);
          expect(await app.get(`churn-${i + k}`)).toMatchObject({ json: { job_id: id } });
          expect((await app.delete(`churn-${i + k}/job/${id}`)).status).toBe(204);
        }),
      );
    }
    const text = (await app.admin('GET', '/metrics')).text;
    await waitFor(async () => {
      await app.engine.tidyNow(app.namespace);
      return (await keys()).length === keysBefore.length;
    });

    // They are written once a second. The run may go over midnight.
    await waitFor(async () => (await days()).length > 0, 5_000);
    expect([1, 2]).toContain((await days()).length);
    for (const day of await days()) {
      // The queues and their number, what all others have together, and the mark of the server.
      expect(await client.hlen(day)).toBeLessThanOrEqual(MAX_COUNTED + 3);
      expect(await client.pttl(day)).toBeGreaterThan(0);
    }

    for (const key of await client.keys(`{${app.namespace}}*`))
      if (OF_HISTORY.test(key)) expect(await client.pttl(key)).toBeGreaterThan(0);

    const queues = new Set(text.match(/queue="churn-\d+"/g));
    expect(queues.size).toBeGreaterThan(0);
    expect(queues.size).toBeLessThanOrEqual(MAX_SERIES);
    expect(text).toContain('queue="other"');
    expect((await usedBytes()) - bytesBefore).toBeLessThan(KEPT_BYTES);
  }, 300_000);
});
