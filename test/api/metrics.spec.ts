import { TestApp } from '../support/app.js';
import { waitFor } from '../support/redis.js';

/** `/metrics` of a server that has done one of everything. */
describe('metrics', () => {
  let app: TestApp;

  // A Redis of its own: on the shared one, servers of other specs may pump our jobs, and count them.
  beforeAll(async () => ({ app } = await TestApp.alone()));
  afterAll(() => app.stop());

  const scrape = async (): Promise<string> => (await app.admin('GET', '/metrics')).text;
  /** The value of the first series whose name and labels hold all of `parts`. */
  const value = (text: string, name: string, ...parts: string[]): number | undefined => {
    const line = text
      .split('\n')
      .find((one) => /^\w+/.exec(one)?.[0] === name && parts.every((part) => one.includes(part)));
    return line === undefined ? undefined : Number(line.split(' ').at(-1));
  };

  it("count publishes, leases, deaths, respawns and refusals under lmstfy's and Pumphouse's names", async () => {
    const queue = `queue="life"`;
    const limit = JSON.stringify({ read: 1_000, write: 4, interval: 3_600 });
    await app.admin('POST', `/token/${app.namespace}/${app.token}/limit`, { body: limit });
    await app.publish('life?tries=1');
    await app.publish('life?delay=1&tries=1');
    await app.publish('life?tries=1');
    const first = (await app.get('life?ttr=60')).json as { job_id: string };
    await app.delete(`life/job/${first.job_id}`);
    await app.get('life?ttr=1');
    await waitFor(async () => (await app.get('life/deadletter')).text.includes('"deadletter_size":1'), 5_000);
    await app.put('life/deadletter?limit=1');
    await app.publish('life');
    expect((await app.put('life')).status).toBe(429);
    await app.admin('DELETE', `/token/${app.namespace}/${app.token}/limit`);

    const text = await scrape();
    const count = (name: string, ...parts: string[]): number | undefined => value(text, name, ...parts);
    expect(count('infra_lmstfy_redis_publish_queue_jobs', queue)).toBe(4);
    expect(count('infra_lmstfy_redis_consume_queue_jobs', queue)).toBe(2);
    expect(count('infra_lmstfy_redis_job_elapsed_ms_count', queue)).toBe(2);
    expect(count('infra_lmstfy_redis_job_ack_elapsed_ms_count', queue)).toBe(1);
    expect(count('infra_lmstfy_redis_queue_direct_push_jobs')).toBe(3);
    expect(count('infra_lmstfy_redis_timer_add_jobs')).toBe(3);
    expect(count('infra_lmstfy_redis_timer_due_jobs')).toBe(2);
    expect(count('infra_lmstfy_redis_deadletter_respawn_jobs')).toBe(1);
    expect(count('infra_lmstfy_redis_queue_sizes', queue)).toBe(3);
    expect(count('infra_lmstfy_redis_deadletter_sizes', queue)).toBe(0);
    expect(count('infra_lmstfy_redis_used_mem_bytes')).toBeGreaterThan(100_000);
    expect(count('infra_lmstfy_redis_qps', 'command="simple_publish"')).toBeGreaterThanOrEqual(4);
    expect(
      count('infra_lmstfy_http_rate_limit', 'action="produce"', `token="${app.token.slice(0, 4)}"`),
    ).toBe(1);
    expect(count('infra_lmstfy_http_http_codes', 'api="/api/:namespace/:queue"', 'code="201"')).toBe(4);
    // The delay and the lease end so close to one another that one round may move both.
    expect(count('pumphouse_pump_lateness_seconds_count')).toBeGreaterThanOrEqual(1);
    expect(count('pumphouse_jobs_pumped_total', 'outcome="died"')).toBe(1);
    expect(count('pumphouse_queue_oldest_ready_age_seconds', queue)).toBeGreaterThan(0);
    expect(count('pumphouse_redis_up')).toBe(1);
    expect(text).not.toContain(app.token);
  });

  it("have lmstfy's labels and bucket bounds", async () => {
    const id = await app.publish('labels');
    await app.get(`labels/job/${id}`);
    const text = await scrape();
    const bounds = (name: string): string[] => [
      ...new Set(
        [...text.matchAll(new RegExp(`^${name}_bucket\\{le="([^"]+)"`, 'gm'))].map(([, le]) => le ?? ''),
      ),
    ];
    const http = 'infra_lmstfy_http_latency_milliseconds';
    expect(bounds(http)).toEqual([
      ...['15', '37.5', '93.75', '234.375', '585.9375', '1464.84375', '3662.109375', '9155.2734375'],
      ...['22888.18359375', '+Inf'],
    ]);
    expect(bounds('infra_lmstfy_redis_job_elapsed_ms')).toEqual([
      ...['15', '52.5', '183.75', '643.125', '2250.9375', '7878.28125', '27573.984375', '+Inf'],
    ]);
    const api = 'api="/api/:namespace/:queue/job/:job_id"';
    expect(value(text, `${http}_count`, api, 'method="GET"', app.namespace)).toBe(1);
    expect(value(text, 'pumphouse_http_requests_total', api, 'method="GET"', 'code="200"')).toBe(1);
  });

  it('have each series once, each with a number or NaN as its value', async () => {
    const lines = (await scrape()).split('\n').filter((line) => line !== '' && !line.startsWith('#'));
    const series = lines.map((line) => line.slice(0, line.lastIndexOf(' ')));
    expect(new Set(series).size).toBe(series.length);
    // A mean over nothing is NaN, which Prometheus reads.
    for (const line of lines) expect(line).toMatch(/^[a-z_0-9]+(?:\{.*\})? (?:[-+.\de]+|nan)$/i);
  });

  it('count an acknowledgement after its lease expired as late', async () => {
    const id = await app.publish('stale?tries=2');
    await app.get('stale?ttr=1');
    await waitFor(async () => (await app.get('stale/size')).text.includes('"size":1'), 5_000);
    await app.delete(`stale/job/${id}`);
    expect(value(await scrape(), 'pumphouse_stale_acks_total', 'kind="late"', app.namespace)).toBe(1);
  });

  it('count a request with a wrong token without its namespace', async () => {
    await app.get('/api/stranger/q', { token: 'not-a-token-of-anybody' });
    const text = await scrape();
    expect(text).not.toContain('stranger');
    expect(value(text, 'infra_lmstfy_http_http_codes', 'namespace=""', 'code="401"')).toBe(1);
  });

  it('show of a queue its blocked, stuck and held jobs, its workers, and whether it is paused', async () => {
    const v1 = async (method: string, path: string, body?: object): Promise<unknown> => {
      const given = body === undefined ? {} : { body: JSON.stringify(body) };
      const { status, json, text } = await app.call(method, `/v1/${app.namespace}/${path}`, given);
      if (status >= 300) throw new Error(`${method} ${path}: ${text}`);
      return json;
    };
    await v1('PATCH', 'queues/crowded', { max_running_per_key: 1 });
    await v1('POST', 'jobs', { queue: 'needs', id: 'needed' });
    await v1('POST', 'jobs', {
      jobs: [
        { queue: 'crowded', depends_on: ['needed'] },
        ...Array.from({ length: 3 }, () => ({ queue: 'crowded', concurrency_key: 'one' })),
      ],
    });
    await v1('POST', 'leases', { queues: ['crowded'], count: 3 });
    await v1('POST', 'queues/crowded/pause');
    await v1('DELETE', 'jobs/needed?force=true');
    const info = { name: 'mailer', queues: ['crowded'] };
    await v1('POST', 'workers/mailer-1/heartbeat', { ttr_ms: 60_000, leases: [], info });

    await waitFor(async () => {
      const text = await scrape();
      const shown = ['blocked_jobs', 'stuck_jobs', 'held_jobs', 'workers', 'paused'].map((name) =>
        value(text, `pumphouse_queue_${name}`, 'queue="crowded"'),
      );
      expect(shown).toEqual([1, 1, 2, 1, 1]);
      return true;
    }, 15_000);
    expect(value(await scrape(), 'pumphouse_queue_paused', 'queue="needs"')).toBe(0);
  });
});
