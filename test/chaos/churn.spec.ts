import { Redis } from 'ioredis';
import { TestApp } from '../support/app.js';
import { startRedis, waitFor, type RedisProcess } from '../support/redis.js';
import { IS_LONG } from './trial.js';

const QUEUES = IS_LONG ? 10_000 : 600;
const AT_ONCE = 50;
const MAX_SERIES = 20;
/** What Redis may keep beyond what it had: tables that it does not shrink at once. */
const KEPT_BYTES = 2_000_000;

describe('queues that come and go', () => {
  let redis: RedisProcess;
  let client: Redis;
  let app: TestApp;
  beforeAll(async () => {
    redis = await startRedis();
    client = new Redis(redis.url, { protocol: 2 });
    app = await TestApp.start({
      PUMPHOUSE_POOLS__DEFAULT__URL: redis.url,
      PUMPHOUSE_METRICS__MAX_QUEUES: String(MAX_SERIES),
    });
  });
  afterAll(async () => {
    await app.stop();
    client.disconnect();
    await redis.stop();
  });

  it(`T36: ${QUEUES} of them leave no key, no memory and no series behind`, async () => {
    const usedBytes = async (): Promise<number> =>
      Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1]);
    const keys = (): Promise<string[]> => client.keys(`{${app.namespace}}*`);
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
    }, 20_000);

    const queues = new Set(text.match(/queue="churn-\d+"/g));
    expect(queues.size).toBeGreaterThan(0);
    expect(queues.size).toBeLessThanOrEqual(MAX_SERIES);
    expect(text).toContain('queue="other"');
    expect((await usedBytes()) - bytesBefore).toBeLessThan(KEPT_BYTES);
  }, 300_000);
});
