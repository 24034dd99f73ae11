import { call, fresh, given, type Job, post, useNativeApi } from '../support/native-api.js';
import { waitFor } from '../support/redis.js';

const GRACE_MS = 60_000;
const MARGIN_MS = 10_000;
const AT_ONCE = { kind: 'fixed', delay_ms: 0 };

/** Ways to store a job with the option. */
const STORES: readonly [string, (job: Record<string, unknown>) => Promise<string>][] = [
  ['a publish of one', async (job) => (await given<Job>('POST', 'jobs', job)).id],
  [
    'a publish of many',
    async (job) => (await given<{ jobs: Job[] }>('POST', 'jobs', { jobs: [job] })).jobs[0]!.id,
  ],
  ['a put', async (job) => (await given<Job>('PUT', `jobs/${fresh('id')}`, job)).id],
];

describe('`lease_grace_ms` of a job', () => {
  useNativeApi();

  /** Leases the job for a moment, and waits until that is over. @returns the job then */
  async function expire(id: string, queue: string): Promise<Job> {
    const { jobs } = await given<{ jobs: Job[] }>('POST', 'leases', { queues: [queue], ttr_ms: 1 });
    expect(jobs).toMatchObject([{ id }]);
    const find = (): Promise<Job> => given<Job>('GET', `jobs/${id}`);
    await waitFor(async () => (await find())['state'] !== 'leased', 5_000);
    return find();
  }

  describe.each(STORES)('the value given by %s', (_name, store) => {
    it('is the shortest delay after an expired lease', async () => {
      const queue = fresh();
      const id = await store({ queue, retry: AT_ONCE, lease_grace_ms: GRACE_MS });
      const job = await expire(id, queue);
      expect(job).toMatchObject({ state: 'scheduled', crashes: 1, failure: { group: 'lease_expired' } });
      const inMs = Date.parse(String(job['due_at'])) - Date.now();
      expect(inMs).toBeLessThanOrEqual(GRACE_MS);
      expect(inMs).toBeGreaterThan(GRACE_MS - MARGIN_MS);
    });

    it('takes precedence over lease_grace_ms of the queue if it is 0', async () => {
      const queue = fresh();
      await given('PATCH', `queues/${queue}`, { lease_grace_ms: GRACE_MS });
      const none = await store({ queue, retry: AT_ONCE, lease_grace_ms: 0 });
      expect(await expire(none, queue)).toMatchObject({ state: 'ready', crashes: 1 });
      await given('DELETE', `jobs/${none}`);
      const usual = await store({ queue, retry: AT_ONCE });
      expect(await expire(usual, queue)).toMatchObject({ state: 'scheduled', crashes: 1 });
    });
  });

  it('lets a worker acknowledge the job after its lease expired, before the next lease', async () => {
    const queue = fresh();
    const { id } = await given<Job>('POST', 'jobs', { queue, retry: AT_ONCE, lease_grace_ms: GRACE_MS });
    const { jobs } = await given<{ jobs: Job[] }>('POST', 'leases', { queues: [queue], ttr_ms: 1 });
    await waitFor(async () => (await given<Job>('GET', `jobs/${id}`))['state'] === 'scheduled', 5_000);
    expect(await post(`jobs/${id}/ack`, { lease: jobs[0]!.lease })).toMatchObject({
      status: 200,
      json: { status: 'acked' },
    });
  });

  it.each([-1, 4_294_967_295_001, 1.5, '5s', true])('is refused as %p', async (value) => {
    const queue = fresh();
    const rule = {
      status: 400,
      json: { code: 'invalid_argument', errors: [{ field: 'lease_grace_ms' }] },
    };
    expect(await call('POST', 'jobs', { queue, lease_grace_ms: value })).toMatchObject(rule);
    expect(await call('PUT', `jobs/${fresh('id')}`, { queue, lease_grace_ms: value })).toMatchObject(rule);
    const [many] = [await call('POST', 'jobs', { jobs: [{ queue }, { queue, lease_grace_ms: value }] })];
    expect(many).toMatchObject({ status: 400, json: { errors: [{ field: 'jobs[1].lease_grace_ms' }] } });
    expect(await given('GET', `queues/${queue}`)).toMatchObject({ length: 0 });
  });
});
