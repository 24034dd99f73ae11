import { Redis } from 'ioredis';
import { encodeId } from '../../src/engine/core/ids.js';
import { Audit } from '../engine/audit.js';
import { TestApp, type Answer } from '../support/app.js';
import { randomFrom } from '../support/random.js';
import { startRedis, waitFor, type RedisProcess } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { ROUNDS, SEED } from '../support/scale.js';

/** Requests with one key, at once. */
const AT_ONCE = 50;
/** Requests in a round of lost answers, each sent until it is answered. */
const REQUESTS = 60;
const GIVE_UP_MS = 30_000;
const NATIVE = 'jobs';
/** Simple and extended jobs of several queues. */
const MIXED = JSON.stringify({
  jobs: [
    { queue: 'r', data: 1 },
    { queue: 'n', priority: 3, tags: ['a'] },
    { queue: 'n', delay_ms: 3_600_000 },
  ],
});

function idsOf({ json }: Answer): string[] {
  const { job_id, job_ids, jobs } = json as { job_id?: string; job_ids?: string[]; jobs?: { id: string }[] };
  return job_ids ?? jobs?.map(({ id }) => id) ?? [job_id ?? ''];
}

describe('T28: publishes with an Idempotency-Key, through two servers', () => {
  let redis: RedisProcess;
  let proxy: TcpProxy;
  let client: Redis;
  let apps: [TestApp, TestApp];
  const running = new Set<TestApp>();
  const random = randomFrom(SEED);

  beforeAll(async () => {
    redis = await startRedis();
    client = new Redis(redis.url, { protocol: 2 });
    proxy = await TcpProxy.start(redis.port);
    // One of them has a bad network to Redis; the tokens are elsewhere, so that it is the publish that suffers.
    const bad = {
      PUMPHOUSE_REDIS__COMMAND_TIMEOUT_MS: '150',
      PUMPHOUSE_POOLS__DEFAULT__URL: proxy.url,
      PUMPHOUSE_TOKENS__URL: redis.url,
    };
    const good = await TestApp.start({ PUMPHOUSE_POOLS__DEFAULT__URL: redis.url });
    // On a busy machine the start itself may take longer than its time-out.
    apps = [good, await waitFor(() => TestApp.start(bad), GIVE_UP_MS)];
    for (const app of apps) running.add(app);
  });
  afterAll(async () => {
    await Promise.all([...running].map((app) => app.stop()));
    client.disconnect();
    await proxy.stop();
    await redis.stop();
  });

  /** To either server; both know the token of the first. `jobs` is the native API's publish, all else a path of lmstfy's. */
  function put(app: TestApp, rest: string, body: string, key: string): Promise<Answer> {
    const options = { body, headers: { 'Idempotency-Key': key }, token: apps[0].token };
    const { namespace } = apps[0];
    return rest === NATIVE
      ? app.call('POST', `/v1/${namespace}/jobs`, options)
      : app.call('PUT', `/api/${namespace}/${rest}`, options);
  }

  /** Sent until it is not 503: on a busy machine the hasty server says that at any time. */
  function putUntilAnswered(...request: Parameters<typeof put>): Promise<Answer> {
    return waitFor(async () => {
      const answer = await put(...request);
      return answer.status === 503 ? null : answer;
    }, GIVE_UP_MS);
  }

  const jobs = async (): Promise<number> => (await client.keysBuffer(`{${apps[0].namespace}}j*`)).length;

  it(`store their jobs once and get equal answers if ${AT_ONCE} with one key are sent at once`, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      for (const [rest, body, count] of [
        ['q', 'body', 1],
        ['q/bulk', '["a","b","c"]', 3],
        [NATIVE, '{"queue":"q","data":1}', 1],
        [NATIVE, MIXED, 3],
      ] as const) {
        const before = await jobs();
        const key = `same-${String(round)}${rest}${String(count)}`;
        const answers = await Promise.all(
          Array.from({ length: AT_ONCE }, (_, i) => putUntilAnswered(apps[i % 2]!, rest, body, key)),
        );
        expect(new Set(answers.map(({ status, text }) => `${String(status)} ${text}`)).size).toBe(1);
        expect(answers[0]?.status).toBe(201);
        expect(await jobs()).toBe(before + count);
      }
    }
  });

  it(
    'store their jobs exactly once if they are repeated until they are answered',
    async () => {
      const first = await jobs();
      const answered: string[] = [];
      const tally = { sent: 0, lost: 0 };
      /** A client that gives up now and then, as if its connection had broken, and otherwise does as it is told. */
      const persist = async (key: string, [rest, body]: readonly [string, string]): Promise<void> => {
        const until = Date.now() + GIVE_UP_MS;
        for (;;) {
          if (Date.now() > until) throw new Error(`${key} was never answered`);
          tally.sent++;
          const app = apps[random() < 0.7 ? 1 : 0];
          const answer = await put(app, rest, body, key).catch(() => null);
          if (answer?.status === 201 && random() > 0.2) {
            answered.push(...idsOf(answer));
            return;
          }
          if (answer !== null && answer.status !== 201) expect(answer.status).toBe(503);
          tally.lost++;
        }
      };
      for (let round = 0; round < ROUNDS; round++) {
        const isOver = { yes: false };
        const spoil = async (): Promise<void> => {
          while (!isOver.yes) {
            proxy.dropsReplies = true;
            await new Promise((resolve) => setTimeout(resolve, 20 + random() * 150));
            proxy.dropsReplies = false;
            if (random() < 0.7) proxy.cut();
            else proxy.cutAfterReplyBytes(Math.floor(random() * 400));
            await new Promise((resolve) => setTimeout(resolve, 60 + random() * 100));
          }
          proxy.cutAfterReplyBytes(Number.POSITIVE_INFINITY);
        };
        const spoiling = spoil();
        const keys = Array.from({ length: REQUESTS }, (_, i) => `r${String(round)}-${String(i)}`);
        const calls = (key: string) =>
          [
            ['r', key],
            ['r/bulk', '[1,2]'],
            [NATIVE, MIXED],
          ] as const;
        await Promise.all(keys.map((key, i) => persist(key, calls(key)[i % 3]!)));
        isOver.yes = true;
        await spoiling;
      }

      console.log(
        `seed ${SEED}: ${tally.sent} sent, ${tally.lost} of them lost or told 503, ${answered.length} jobs`,
      );
      expect(tally.lost).toBeGreaterThan(ROUNDS * 10);
      expect(new Set(answered).size).toBe(answered.length);
      const stored = await client.keysBuffer(`{${apps[0].namespace}}j*`);
      const found = new Set(stored.map((key) => key.toString('hex')));
      const missing = answered.filter((id) => {
        const key = Buffer.concat([Buffer.from(`{${apps[0].namespace}}j`), encodeId(id) ?? Buffer.alloc(0)]);
        return !found.has(key.toString('hex'));
      });
      expect(missing).toEqual([]);
      expect(await jobs()).toBe(first + answered.length);
      expect(await Audit.of(client, apps[0].namespace)).toEqual([]);
    },
    60_000 + ROUNDS * 20_000,
  );

  it('store no job if they are sent again after their job is done and their first server has stopped', async () => {
    const { namespace } = apps[0];
    const inRedis = async (): Promise<number> =>
      (await apps[0].engine.queues.counts(namespace, ['k']))[0]?.ready ?? 0;
    await putUntilAnswered(apps[1], 'k', 'warm', 'warm');
    proxy.dropsReplies = true;
    await waitFor(async () => {
      expect(await put(apps[1], 'k', 'work', 'key')).toMatchObject({ status: 503 });
      return (await inRedis()) === 2;
    }, GIVE_UP_MS);
    proxy.dropsReplies = false;
    proxy.cut();
    const [, job] = await apps[0].engine.lease(namespace, {
      queues: ['k'],
      count: 2,
      ttrMs: 60_000,
      waitMs: 0,
    });
    expect(job?.body.toString()).toBe('work');
    await apps[0].engine.ack(namespace, 'k', job!.id);
    running.delete(apps[1]);
    await apps[1].stop();

    expect(await put(apps[0], 'k', 'work', 'key')).toMatchObject({ status: 201, json: { job_id: job!.id } });
    expect(await apps[0].engine.queues.counts(namespace, ['k'])).toMatchObject([{ ready: 0, leased: 1 }]);
  });
});
