import { call, fresh, given, type Job, post, useNativeApi } from '../support/native-api.js';
import { waitFor } from '../support/redis.js';

const RUN_MS = 60_000;
const HOUR_MS = 3_600_000;

describe('`max_run_ms` over HTTP', () => {
  useNativeApi();

  const take = async (queue: string): Promise<Job> => {
    const leased = await given<{ jobs: Job[] }>('POST', 'leases', { queues: [queue], ttr_ms: HOUR_MS });
    return leased.jobs[0]!;
  };
  const msOf = (moment: unknown): number => Date.parse(String(moment));

  it.each<[string, (job: Record<string, unknown>) => Promise<unknown>]>([
    ['a publish of one', (job) => given('POST', 'jobs', job)],
    ['a publish of many', (job) => given('POST', 'jobs', { jobs: [job] })],
    ['a put', (job) => given('PUT', `jobs/${fresh('id')}`, job)],
    [
      'the defaults of the queue',
      async ({ queue, max_run_ms }) => {
        await given('PATCH', `queues/${String(queue)}`, { defaults: { max_run_ms } });
        await given('POST', 'jobs', { queue });
      },
    ],
  ])('cuts leases and heartbeats: %s', async (_name, store) => {
    const queue = fresh();
    const before = Date.now();
    await store({ queue, max_run_ms: RUN_MS });
    const job = await take(queue);
    const endsMs = msOf(job['lease_ends_at']);
    expect(endsMs).toBeGreaterThanOrEqual(before + RUN_MS);
    expect(endsMs).toBeLessThanOrEqual(Date.now() + RUN_MS + 1);
    const beat = await given<Job>('POST', `jobs/${job.id}/heartbeat`, { lease: job.lease, ttr_ms: HOUR_MS });
    expect(msOf(beat['lease_ends_at'])).toBe(endsMs);
    expect(await given('GET', `jobs/${job.id}`)).toMatchObject({ max_run_ms: RUN_MS });
  });

  it('fails the job in the group max_run_exceeded, and refuses its worker', async () => {
    const queue = fresh();
    await given('POST', 'jobs', { queue, max_run_ms: 1, retry: { kind: 'none' } });
    const job = await take(queue);
    await waitFor(async () => (await given<Job>('GET', `jobs/${job.id}`))['state'] === 'dead', 5_000);
    expect(await given('GET', `jobs/${job.id}`)).toMatchObject({
      failure: { group: 'max_run_exceeded' },
    });
    expect(await post(`jobs/${job.id}/ack`, { lease: job.lease })).toMatchObject({
      status: 409,
      json: { code: 'lease_lost' },
    });
  });

  it.each([0, -1, 4_294_967_295_001, 1.5, '5s', true])('is refused as %p', async (value) => {
    const queue = fresh();
    const rule = { status: 400, json: { code: 'invalid_argument', errors: [{ field: 'max_run_ms' }] } };
    expect(await call('POST', 'jobs', { queue, max_run_ms: value })).toMatchObject(rule);
    const ofQueue = await call('PATCH', `queues/${queue}`, { defaults: { max_run_ms: value } });
    expect(ofQueue).toMatchObject({ status: 400, json: { errors: [{ field: 'defaults.max_run_ms' }] } });
  });
});
