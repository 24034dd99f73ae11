import { Redis } from 'ioredis';
import type { Answer } from '../support/app.js';
import { app, call, fresh, useNativeApi } from '../support/native-api.js';
import { testRedisUrl, waitFor } from '../support/redis.js';

const DAY_MS = 86_400_000;
const LONGEST_MS = 30 * DAY_MS;
/** What a call and a look at its record take at most, in ms. */
const MARGIN_MS = 10_000;

type Headers = Record<string, string>;
type Call = (queue: string, headers: Headers) => Promise<Answer>;

/** Publishes that take the headers. */
const CALLS: readonly [string, Call][] = [
  ['publish one (v1)', (queue, headers) => call('POST', 'jobs', { queue, data: 1 }, { headers })],
  [
    'publish many (v1)',
    (queue, headers) => call('POST', 'jobs', { jobs: [{ queue }, { queue, type: 't' }] }, { headers }),
  ],
  [
    'publish one with a type (v1)',
    (queue, headers) => call('POST', 'jobs', { queue, type: 't', priority: 1 }, { headers }),
  ],
  ['publish (lmstfy)', (queue, headers) => app.put(queue, 'x', { headers })],
  ['publish many (lmstfy)', (queue, headers) => app.put(`${queue}/bulk`, '[1,2]', { headers })],
  [
    'republish (lmstfy)',
    (queue, headers) => app.put(`${queue}/job/01ARZ3NDEKTSV4RRFFQ69G5FAV`, 'x', { headers }),
  ],
];

describe('Idempotency-TTL-Ms', () => {
  let redis: Redis;
  useNativeApi();
  beforeAll(() => {
    redis = new Redis(testRedisUrl(), { protocol: 2 });
  });
  afterAll(() => redis.disconnect());

  const records = (): Promise<Buffer[]> => redis.keysBuffer(`{${app.namespace}}:k*`);

  /** How long the record that a call makes is kept, in ms. */
  async function keptMs(act: () => Promise<unknown>): Promise<number> {
    const before = new Set((await records()).map(String));
    await act();
    const made = (await records()).filter((key) => !before.has(String(key)));
    expect(made).toHaveLength(1);
    return redis.pttl(made[0]!);
  }

  const sizeOf = async (queue: string): Promise<unknown> =>
    ((await app.get(`${queue}/size`)).json as { size: unknown }).size;

  describe.each(CALLS)('the header on a call to %s', (_name, publish) => {
    const keyed = (more: Headers = {}): Headers => ({ 'Idempotency-Key': fresh('key'), ...more });

    it.each([1_000, 120_000, LONGEST_MS])('sets how long the key is kept: %s ms', async (ttlMs) => {
      const headers = keyed({ 'Idempotency-TTL-Ms': String(ttlMs) });
      const leftMs = await keptMs(async () => {
        expect(await publish(fresh(), headers)).toMatchObject({ status: 201 });
      });
      expect(leftMs).toBeLessThanOrEqual(ttlMs);
      expect(leftMs).toBeGreaterThan(ttlMs - MARGIN_MS);
    });

    it('defaults to one day', async () => {
      const leftMs = await keptMs(() => publish(fresh(), keyed()));
      expect(leftMs).toBeLessThanOrEqual(DAY_MS);
      expect(leftMs).toBeGreaterThan(DAY_MS - MARGIN_MS);
    });

    it('may differ when the publish is repeated: the first answer is returned', async () => {
      const [queue, headers] = [fresh(), keyed({ 'Idempotency-TTL-Ms': '5000000' })];
      const first = await publish(queue, headers);
      for (const ttl of [{}, { 'Idempotency-TTL-Ms': '60000' }]) {
        const { 'Idempotency-Key': key = '' } = headers;
        const again = await publish(queue, { 'Idempotency-Key': key, ...ttl });
        expect([again.status, again.text]).toEqual([201, first.text]);
      }
    });

    it.each([
      '999',
      '0',
      '-5000',
      '+5000',
      '2592000001',
      '99999999999',
      '1e4',
      '5000.0',
      '0x1388',
      'day',
      '',
    ])('is refused below a second, above 30 days, or as no number: "%s"', async (value) => {
      const queue = fresh();
      const answer = await publish(queue, keyed({ 'Idempotency-TTL-Ms': value }));
      expect(answer.status).toBe(400);
      expect(answer.text).toMatch(
        /Idempotency-TTL-Ms:? must be a whole number of milliseconds from 1000 to 2592000000, which is 30 days/,
      );
      expect(await sizeOf(queue)).toBe(0);
    });

    it('is refused without an Idempotency-Key', async () => {
      const queue = fresh();
      const answer = await publish(queue, { 'Idempotency-TTL-Ms': '60000' });
      expect(answer.status).toBe(400);
      expect(answer.text).toMatch(
        /Idempotency-TTL-Ms:? says how long an Idempotency-Key is kept: send both or neither/,
      );
      expect(await sizeOf(queue)).toBe(0);
    });
  });

  it('stores a second job if the publish is repeated after that time', async () => {
    const queue = fresh();
    const headers = { 'Idempotency-Key': fresh('key'), 'Idempotency-TTL-Ms': '1000' };
    const publish = async (): Promise<unknown> => (await call('POST', 'jobs', { queue }, { headers })).text;
    const first = await publish();
    expect(await publish()).toBe(first);
    await waitFor(async () => (await publish()) !== first, 5_000);
    expect(await sizeOf(queue)).toBe(2);
  });
});

describe('Idempotency-Replayed', () => {
  useNativeApi();

  const replayed = ({ headers }: Answer): unknown => headers['idempotency-replayed'];

  describe.each(CALLS)('the header on a call to %s', (_name, publish) => {
    it('is true in the answer to a repeated request, and only there', async () => {
      const [queue, headers] = [fresh(), { 'Idempotency-Key': fresh('key') }];
      const answers = [];
      for (let i = 0; i < 3; i++) answers.push(await publish(queue, headers));

      expect(answers.map(replayed)).toEqual([undefined, 'true', 'true']);
      expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    });

    it('is in all answers but one of requests that are sent at once', async () => {
      const [queue, headers] = [fresh(), { 'Idempotency-Key': fresh('key') }];
      const answers = await Promise.all(Array.from({ length: 5 }, () => publish(queue, headers)));
      expect(answers.map(replayed).filter((value) => value === undefined)).toHaveLength(1);
    });

    it('is absent without a key', async () => {
      const queue = fresh();
      expect([await publish(queue, {}), await publish(queue, {})].map(replayed)).toEqual([
        undefined,
        undefined,
      ]);
    });
  });

  it('is absent where the key was used for another request', async () => {
    const [queue, headers] = [fresh(), { 'Idempotency-Key': fresh('key') }];
    await call('POST', 'jobs', { queue, data: 1 }, { headers });
    const other = await call('POST', 'jobs', { queue, data: 2 }, { headers });
    expect([other.status, replayed(other)]).toEqual([422, undefined]);
  });

  it('is in the answer to a repeated publish with wait_ms', async () => {
    const [queue, headers] = [fresh(), { 'Idempotency-Key': fresh('key') }];
    const publish = (): Promise<Answer> => call('POST', 'jobs?wait_ms=1', { queue }, { headers });
    expect([await publish(), await publish()].map((one) => [one.status, replayed(one)])).toEqual([
      [202, undefined],
      [202, 'true'],
    ]);
  });

  it('is described in the OpenAPI document', async () => {
    const { json } = await app.get('/v1/openapi.json', { token: null });
    const { paths } = json as Readonly<{ paths: Record<string, { post: { responses: object } }> }>;
    const { responses } = paths['/v1/{namespace}/jobs']!.post;
    for (const status of ['200', '201', '202'])
      expect(responses).toHaveProperty([status, 'headers', 'Idempotency-Replayed']);
  });
});

describe('a header of the native API that breaks its rule', () => {
  useNativeApi();

  const ID = '01ARZ3NDEKTSV4RRFFQ69G5FAV';
  it.each<[string, string, string, Headers, string]>([
    ['POST', 'jobs', 'Idempotency-Key', { 'Idempotency-Key': 'two words' }, 'must have 1 to 255 visible'],
    [
      ...(['POST', 'jobs', 'Idempotency-TTL-Ms'] as const),
      { 'Idempotency-Key': 'k', 'Idempotency-TTL-Ms': '5' },
      'must be a whole number',
    ],
    ['POST', 'jobs', 'Idempotency-TTL-Ms', { 'Idempotency-TTL-Ms': '60000' }, 'send both or neither'],
    ['POST', 'jobs', 'X-Durability', { 'X-Durability': 'disk' }, 'must be memory, aof'],
    ['POST', 'jobs', 'X-Job-ID', { 'X-Job-ID': 'x' }, 'must be ids'],
    ['POST', 'jobs', 'X-Job-ID', { 'X-Job-ID': `${ID},${ID}` }, 'must be ids'],
    [
      ...(['POST', 'jobs', 'X-Job-ID'] as const),
      { 'X-Job-ID': ID, 'Idempotency-Key': 'k' },
      'must not be set together',
    ],
    ['PUT', 'jobs/a', 'Idempotency-Key', { 'Idempotency-Key': 'k' }, 'must be left out'],
    ['PUT', 'jobs/a', 'X-Job-ID', { 'X-Job-ID': ID }, 'must be left out'],
    ['PUT', 'jobs/a', 'If-None-Match', { 'If-None-Match': '"1"' }, 'must be *'],
    ['GET', 'events', 'Last-Event-ID', { 'Last-Event-ID': 'x' }, 'must be the id of an event'],
  ])('is named in `errors` of %s %s: %s', async (method, path, field, headers, rule) => {
    const body = method === 'GET' ? undefined : { queue: fresh() };
    const { status, json } = await call(method, path, body, { headers });
    expect({ status, json }).toMatchObject({
      status: 400,
      json: {
        code: 'invalid_argument',
        detail: expect.stringContaining(`${field}: `) as string,
        errors: [{ field, rule: expect.stringContaining(rule) as string }],
      },
    });
  });
});
