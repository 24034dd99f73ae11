import type { Redis } from 'ioredis';
import { Audit } from '../engine/audit.js';
import { OF_HISTORY } from '../engine/every-kind.js';
import { TestApp } from '../support/app.js';
import { waitFor } from '../support/redis.js';

describe('a destroyed queue', () => {
  let client: Redis;
  let app: TestApp;
  beforeAll(async () => ({ client, app } = await TestApp.alone()));
  afterAll(() => app.stop());

  it('T34: loses its ready jobs, keeps its delayed, leased and dead jobs, and leaves no key when those have ended', async () => {
    const dead = await app.publish('q?tries=1&ttl=0');
    await app.get('q?ttr=1');
    await waitFor(async () => (await app.get('q/deadletter')).text.includes('"deadletter_size":1'), 5_000);
    const running = await app.publish('q?tries=2&ttl=0');
    expect(await app.get('q?ttr=600')).toMatchObject({ json: { job_id: running } });
    const delayed = await app.publish('q?delay=600&ttl=0');
    const far = await app.publish('q?delay=1000000&ttl=0');
    for (let i = 0; i < 300; i++) await app.publish('q?ttl=0');

    expect((await app.delete('q')).status).toBe(204);

    expect(await app.get('q/size')).toMatchObject({ json: { size: 0 } });
    expect(await app.engine.queues.counts(app.namespace, ['q'])).toMatchObject([
      { ready: 0, scheduled: 2, leased: 1, dead: 1 },
    ]);
    expect(await Audit.of(client, app.namespace)).toEqual([]);
    expect((await app.get('q')).status).toBe(404);
    // Its running jobs can be acknowledged as ever, by their lease.
    const acks = { acks: [{ queue: 'q', id: running, lease: 1 }] };
    const answer = await app.call('POST', `/v1/${app.namespace}/acks`, { body: JSON.stringify(acks) });
    expect(answer).toMatchObject({ json: { results: [{ id: running, status: 'acked' }] } });
    for (const id of [delayed, far]) expect((await app.delete(`q/job/${id}`)).status).toBe(204);
    expect(await app.get('q/deadletter')).toMatchObject({ json: { deadletter_head: dead } });
    expect((await app.delete('q/deadletter?limit=1')).status).toBe(204);

    await app.engine.tidyNow(app.namespace);
    await waitFor(async () => {
      await app.engine.tidyNow(app.namespace);
      // Statistics, paces and the history outlive the queue: they have a TTL.
      return (await client.keys(`{${app.namespace}}*`)).every(
        (key) => /\}:t\d+$/.test(key) || OF_HISTORY.test(key),
      );
    });
    // Gauges may be those of a look some moments ago.
    const gauges = async (): Promise<string[]> =>
      (await app.admin('GET', '/metrics')).text
        .split('\n')
        .filter((line) => /^infra_lmstfy_redis_queue_sizes\{|^pumphouse_queue_/.test(line))
        .filter((line) => line.includes(app.namespace));
    await waitFor(async () => (await gauges()).length === 0, 15_000);
  });
});
