import { HttpMetrics } from './http-metrics.js';
import { Metrics } from './metrics.js';
import { IDLE_MS } from './series.js';

const caller = { pool: 'default', namespace: 'ns' };

function setUp(maxNamespaces = 10) {
  const metrics = new Metrics();
  const now = { ms: 1_000_000 };
  return {
    http: new HttpMetrics(metrics, maxNamespaces, () => now.ms),
    text: () => metrics.registry.metrics(),
    now,
  };
}

describe('HttpMetrics', () => {
  it('counts requests by route and status, and measures the duration of successful requests only', async () => {
    const { http, text } = setUp();
    http.record('/api/:namespace/:queue', 'GET', 200, 20, caller);
    http.record('/api/:namespace/:queue', 'GET', 404, 900, caller);
    const labels = 'pool="default",namespace="ns",api="/api/:namespace/:queue",method="GET"';
    const lines = await text();
    expect(lines).toContain(`pumphouse_http_requests_total{${labels},code="200"} 1`);
    expect(lines).toContain(`pumphouse_http_requests_total{${labels},code="404"} 1`);
    expect(lines).toContain(`pumphouse_http_request_duration_seconds_sum{${labels}} 0.02`);
  });

  it('shows no namespace without a valid token', async () => {
    const { http, text } = setUp();
    for (let i = 0; i < 100; i++) http.record('/api/:namespace/:queue', 'GET', 401, 1);
    expect(await text()).toContain(
      'http_requests_total{pool="",namespace="",api="/api/:namespace/:queue",method="GET",code="401"} 100',
    );
  });

  it('shows only the first four characters of a rate-limited token', async () => {
    const { http, text } = setUp();
    http.rateLimited(caller, '01SECRETSECRET', 'consume');
    const lines = await text();
    expect(lines).toContain(
      'pumphouse_http_rate_limited_total{pool="default",namespace="ns",token="01SE",action="consume"} 1',
    );
    expect(lines).not.toContain('SECRET');
  });

  it('counts the rejections of tokens beyond its maximum together', async () => {
    const { http, text } = setUp();
    const label = (i: number): string => String(i).padStart(4, '0');
    for (let i = 0; i < 300; i++) http.rateLimited(caller, `${label(i)}SECRET`, 'consume');
    http.rateLimited(caller, `${label(7)}SECRET`, 'consume');
    const lines = await text();
    expect(lines.match(/^pumphouse_http_rate_limited_total/gm)).toHaveLength(101);
    expect(lines).toContain(`token="${label(7)}",action="consume"} 2`);
    expect(lines).toContain('token="other",action="consume"} 200');
  });

  it('shows at most its maximum number of namespaces, counts the others as "other", and releases idle namespaces', async () => {
    const { http, text, now } = setUp(2);
    for (const namespace of ['a', 'b', 'c', 'd'])
      http.record('/x', 'GET', 200, 1, { pool: 'default', namespace });
    expect(await text()).toContain(
      'http_requests_total{pool="default",namespace="other",api="/x",method="GET",code="200"} 2',
    );
    now.ms += IDLE_MS;
    http.sweep();
    expect(await text()).not.toContain('namespace="a"');
    expect(await text()).toContain('namespace="other",api="/x",method="GET",code="200"} 2');
    http.record('/x', 'GET', 200, 1, { pool: 'default', namespace: 'a' });
    expect(await text()).toContain('namespace="a",api="/x",method="GET",code="200"} 1');
  });
});
