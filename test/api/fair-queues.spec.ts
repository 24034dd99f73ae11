import { TestApp } from '../support/app.js';
import {
  app,
  call,
  code,
  fresh,
  given,
  type Job,
  lease,
  post,
  publish,
  useNativeApi,
  wrongFields,
} from '../support/native-api.js';

describe('a fair queue over HTTP', () => {
  useNativeApi();

  const patch = (path: string, body: object) => call('PATCH', path, body);
  const fairQueue = async (fair: unknown = true): Promise<string> => {
    const queue = fresh();
    expect(await patch(`queues/${queue}`, { fair })).toMatchObject({ status: 200, json: { fair } });
    return queue;
  };
  const publishAll = async (queue: string, ...keys: readonly (string | undefined)[]): Promise<string[]> => {
    const jobs = keys.map((key) => ({ queue, data: key, fair_key: key }));
    const { jobs: stored } = await given<{ jobs: Job[] }>('POST', 'jobs', { jobs });
    return stored.map(({ id }) => id);
  };
  const dataOf = (jobs: readonly Job[]): unknown[] => jobs.map(({ data }) => data);

  it('serves a key with one job after one of a key with 192', async () => {
    const queue = await fairQueue();
    for (let i = 0; i < 3; i++) await publishAll(queue, ...Array.from({ length: 64 }, () => 'big'));
    await publishAll(queue, 'small');
    expect(dataOf(await lease({ queues: [queue], count: 2 }))).toEqual(['big', 'small']);
  });

  it('shares its jobs between servers, whichever leases', async () => {
    const queue = await fairQueue({ weights: { a: 2 } });
    await publishAll(queue, ...'aaaaaabbbbbb'.split(''));
    const other = await TestApp.start();
    try {
      const body = JSON.stringify({ queues: [queue], count: 1 });
      const taken: unknown[] = [];
      for (let i = 0; i < 3; i++) {
        taken.push(...dataOf(await lease({ queues: [queue], count: 2 })));
        const { json } = await other.call('POST', `/v1/${app.namespace}/leases`, { body, token: app.token });
        taken.push(...dataOf((json as { jobs: Job[] }).jobs));
      }
      expect(taken.filter((one) => one === 'a')).toHaveLength(6);
      expect(taken.filter((one) => one === 'b')).toHaveLength(3);
    } finally {
      await other.stop();
    }
  });

  it('gives jobs of lmstfy one turn together, and lmstfy its jobs of all keys', async () => {
    const queue = await fairQueue();
    const [first] = await publishAll(queue, 'a', 'a');
    const simple: string[] = [];
    for (const body of ['1', '2'])
      simple.push(((await app.put(queue, body)).json as { job_id: string }).job_id);
    const got = async (): Promise<string> =>
      ((await app.get(`${queue}?ttr=60`)).json as { job_id: string }).job_id;
    expect((await app.get(`${queue}/size`)).json).toMatchObject({ size: 4 });
    expect([await got(), await got(), await got()]).toEqual([simple[0], first, simple[1]]);
    expect((await app.get(`${queue}/peek`)).status).toBe(200);
  });

  it('lists its keys with the most ready jobs', async () => {
    const queue = await fairQueue();
    const long = 'x'.repeat(255);
    await publishAll(queue, 'a', 'b', 'b', long, long, long, undefined);
    const oldest = expect.stringMatching(/^20/) as unknown;
    expect(await given('GET', `queues/${queue}/keys?limit=2`)).toEqual({
      keys: [
        { key: long, ready: 3, oldest_published_at: oldest },
        { key: 'b', ready: 2, oldest_published_at: oldest },
      ],
      complete: true,
    });
    expect(await given('GET', `queues/${fresh()}/keys`)).toEqual({ keys: [], complete: true });
  });

  it('says that other keys have their turn before the one of a job', async () => {
    const queue = await fairQueue();
    const ids = await publishAll(queue, 'a', 'a', 'b', 'c');
    await lease({ queues: [queue] });
    const explained = await given('GET', `jobs/${ids[1]!}/explain`);
    expect(explained).toMatchObject({
      cause: 'fair_turn',
      message: `The job is ready in the fair queue ${queue}: it is the next job of the fair key a, and 2 other keys have their turn first.`,
      facts: { fair_key: 'a', keys_before: 2, jobs_in_front: 0 },
      remedies: [{ call: expect.stringContaining('leases') as unknown }],
    });
    await given('POST', `queues/${queue}/pause`, { fair_key: 'b' });
    const explainedAgain = await given('GET', `jobs/${ids[1]!}/explain`);
    expect(explainedAgain).toMatchObject({ facts: { keys_before: 1 } });
    const [plain] = await publishAll(queue, undefined);
    expect(await given('GET', `jobs/${plain!}/explain`)).toMatchObject({
      cause: 'fair_turn',
      facts: { fair_key: null, keys_before: 0 },
    });
  });

  it('shows the key of a job, and keeps it over failures', async () => {
    const queue = await fairQueue();
    const { id } = await publish({ queue, data: 1, fair_key: 'a', concurrency_key: 'b', tries: 3 });
    const [job] = await lease({ queues: [queue] });
    await post(`jobs/${id}/retry`, { lease: job!.lease, group: 'g', delay_ms: 0 });
    expect(await given('GET', `jobs/${id}`)).toMatchObject({
      fair_key: 'a',
      concurrency_key: 'b',
      state: 'ready',
    });
    expect(await given('GET', `queues/${queue}/keys`)).toMatchObject({ keys: [{ key: 'a', ready: 1 }] });
  });

  it.each([
    ['a text', 'yes'],
    ['null in place of a key', { weights: null }],
    ['a weight of 0', { weights: { a: 0 } }],
    ['a weight of 1001', { default: 1001 }],
    ['half a weight', { weights: { a: 1.5 } }],
    ['an empty key', { weights: { '': 1 } }],
    ['another field', { weight: { a: 1 } }],
    [
      '101 weights',
      { weights: Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`k${String(i)}`, 1])) },
    ],
  ])('refuses %s as fairness, and names the field', async (_about, fair) => {
    const answer = await patch(`queues/${fresh()}`, { fair });
    expect([answer.status, code(answer), wrongFields(answer)]).toEqual([400, 'invalid_argument', ['fair']]);
  });

  it.each(['', 'a\nb', 'x'.repeat(256), 5])('refuses %j as a fair key', async (fair_key) => {
    const answer = await post('jobs', { queue: fresh(), fair_key });
    expect([answer.status, wrongFields(answer)]).toEqual([400, ['fair_key']]);
  });
});
