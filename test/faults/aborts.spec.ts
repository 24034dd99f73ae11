import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Audit } from '../engine/audit.js';
import { BuiltServer } from '../support/built-server.js';
import { randomFrom } from '../support/random.js';
import { OwnTime } from '../support/own-time.js';
import { startRedis, waitFor, type RedisProcess } from '../support/redis.js';
import { Poll } from './poll.js';
import { ROUNDS, SEED } from '../support/scale.js';

/** `npm run chaos` asks for 20 rounds; each is 300 jobs. */
const JOBS = ROUNDS * 300;
const CLIENTS = 200;
const NS = 'aborts';

describe('200 clients in long polls', () => {
  let redis: RedisProcess;
  let server: BuiltServer;
  let token: string;
  beforeEach(async () => {
    redis = await startRedis();
    server = await BuiltServer.create({ PUMPHOUSE_POOLS__DEFAULT__URL: redis.url });
    await server.start();
    token = await server.token(NS);
  });
  afterEach(async () => {
    await server.remove();
    await redis.stop();
  });

  const metrics = async (): Promise<string> => (await fetch(`${server.adminUrl}/metrics`)).text();
  const poll = (query: string): Poll =>
    new Poll(server.apiPort, `GET /api/${NS}/q?${query} HTTP/1.1\r\nHost: x\r\nX-Token: ${token}\r\n\r\n`);
  const call = async (method: string, path: string): Promise<Record<string, unknown>> => {
    const url = `${server.url}/api/${NS}/${path}`;
    const answer = await fetch(url, {
      method,
      headers: { 'X-Token': token },
      body: method === 'PUT' ? 'x' : null,
    });
    return (await answer.json()) as Record<string, unknown>;
  };

  it('T3: leave no job leased, lost or given out twice when they disconnect at random', async () => {
    const random = randomFrom(SEED);
    const got = new Map<string, number>();
    let isOver = false;
    let abandoned = 0;
    const goesOn = (): boolean => !isOver;
    const clients = Array.from({ length: CLIENTS }, async () => {
      while (goesOn()) {
        // A lease outlives the test: only an undo brings a job back.
        const one = poll('timeout=20&ttr=3600');
        const giveUp = (): void => {
          abandoned++;
          one.giveUp();
        };
        const timer = setTimeout(giveUp, random() * 400);
        const id = /"job_id":"([^"]+)"/.exec(await one.answer())?.[1];
        clearTimeout(timer);
        if (id !== undefined) got.set(id, (got.get(id) ?? 0) + 1);
      }
    });
    const published = new Set<string>();
    for (let i = 0; i < JOBS; i += 4) {
      const jobs = await Promise.all([1, 2, 3, 4].map(() => call('PUT', 'q?tries=1&ttl=0&delay=0')));
      for (const { job_id } of jobs) published.add(String(job_id));
      await sleep(random() * 12);
    }
    isOver = true;
    await Promise.all(clients);

    // The leases of disconnected clients have been undone by now, or are about to be.
    const missing = (): number => published.size - got.size;
    await waitFor(async () => Number((await call('GET', 'q/size'))['size']) === missing(), 10_000).catch(
      () => undefined,
    );
    console.log(`seed ${SEED}: ${published.size} jobs, ${got.size} received, ${abandoned} polls abandoned`);
    expect(await call('GET', 'q/size')).toMatchObject({ size: missing() });
    expect(await call('GET', 'q/deadletter')).toMatchObject({ deadletter_size: 0 });
    expect([...got.keys()].filter((id) => !published.has(id))).toEqual([]);
    expect([...got].filter(([, times]) => times > 1)).toEqual([]);
    const client = new Redis(redis.url, { protocol: 2 });
    expect(await Audit.of(client, NS)).toEqual([]);
    client.disconnect();
  }, 120_000);

  it('T41: are all answered within two seconds of SIGTERM, and no job is lost', async () => {
    const polls = Array.from({ length: CLIENTS }, () => poll('timeout=600&ttr=3600'));
    const client = new Redis(redis.url, { protocol: 2 });
    await waitFor(async () =>
      (await metrics()).includes(`pumphouse_waiters{pool="default"} ${String(CLIENTS)}\n`),
    );

    const time = new OwnTime();
    const exit = server.end('SIGTERM');
    // One of them may still be served: then it must have its job.
    const late = await call('PUT', 'q?tries=1&ttl=0&delay=0').catch(() => null);
    const answers = await Promise.all(polls.map((one) => one.answer()));

    expect(time.end()).toBeLessThan(2_000);
    expect(await exit).toBe(0);
    const served = answers.filter((answer) => answer.includes('"msg":"new job"')).length;
    for (const answer of answers) expect(answer).toMatch(/^HTTP\/1\.1 (404|200) /);
    expect(answers.filter((answer) => /^connection: close/im.test(answer)).length).toBeGreaterThanOrEqual(
      CLIENTS - served,
    );
    const ready = await client.llen(`{${NS}}:r1`);
    expect(ready + served).toBe(late?.['job_id'] === undefined ? 0 : 1);
    client.disconnect();
  });
});
