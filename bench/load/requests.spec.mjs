import { REQUEST_PLANS } from './requests.mjs';

const TARGETS = [
  { path: '/api/a/q', token: 'token-a' },
  { path: '/api/b/q', token: 'token-b', query: '?delay=5' },
];
const ID = '"job_id":"';

/** Runs a workload to its end; `answer` is what each request is answered. @returns {string[]} the requests */
function requestsOf(
  /** @type {any} */ workload,
  /** @type {any} */ targets,
  answer = (/** @type {number} */ _n) => '',
) {
  const plan = /** @type {import('./requests.mjs').RequestPlan} */ (
    REQUEST_PLANS[workload.requests]?.(workload, targets)
  );
  return Array.from({ length: plan.total }, (_, n) => {
    const sent = plan.next(n, 0, '');
    plan.next(n, 1, answer(n));
    return sent?.request ?? '';
  });
}

const consume = { requests: 'repeat', method: 'GET', after: '?ttr=5', expect: 200, collect: true };
const publish = { requests: 'repeat', method: 'PUT', body: 'x', expect: 201 };

it('the load generator spreads requests equally over all targets, with the token and query of each target', () => {
  const requests = requestsOf({ ...publish, total: 10 }, TARGETS);

  const of = (/** @type {string} */ start) => requests.filter((request) => request.startsWith(start));
  expect(of('PUT /api/a/q HTTP/1.1\r\nHost: bench\r\nX-Token: token-a\r\n')).toHaveLength(5);
  expect(of('PUT /api/b/q?delay=5 HTTP/1.1\r\nHost: bench\r\nX-Token: token-b\r\n')).toHaveLength(5);
});

it('the load generator acknowledges each leased job once, in the queue that the job came from', () => {
  const leasing = requestsOf({ ...consume, total: 4 }, TARGETS, (n) => `{${ID}job-${n}"}`);
  const acks = requestsOf({ requests: 'ack', expect: 204, total: 100 }, []);

  const where = (/** @type {string} */ request) => request.split(' ')[1]?.replace(/\?.*/, '');
  expect(acks.map((request) => request.split(' ')[1])).toEqual(
    leasing.map((request, n) => `${where(request)}/job/job-${n}`),
  );
  expect(REQUEST_PLANS.ack?.({ expect: 204, total: 100 }, []).total).toBe(0);
});

describe('the load generator on the native API', () => {
  const target = { path: '/v1/a', token: 'token-a' };
  const lease = { ...consume, after: '/leases', body: '{"queues":["q"]}', contains: '"lease":', total: 1 };

  it('acknowledges each leased job once, with its lease number', () => {
    const jobs = [1, 2].map((n) => ({ id: `job-${n}`, lease: n }));
    requestsOf(lease, [target], () => JSON.stringify({ jobs }));
    const requests = requestsOf({ requests: 'settle', type: 'application/json', expect: 200, total: 100 }, [
      target,
    ]);

    expect(requests.map((request) => request.split('\r\n')[0])).toEqual([
      'POST /v1/a/jobs/job-1/ack HTTP/1.1',
      'POST /v1/a/jobs/job-2/ack HTTP/1.1',
    ]);
    expect(requests.map((request) => request.split('\r\n\r\n')[1])).toEqual(['{"lease":1}', '{"lease":2}']);
    expect(requests[0]).toContain('X-Token: token-a\r\nContent-Type: application/json\r\n');
  });

  it('accepts the answer to a lease request only if it contains a job', () => {
    const sent = REQUEST_PLANS.repeat?.(lease, [target]).next(0, 0, '');
    expect(sent?.check?.('{"jobs":[{"id":"x","lease":1}]}')).toBe(true);
    expect(sent?.check?.('{"jobs":[]}')).toBe(false);
  });
});

describe('the load generator with batches of acknowledgements', () => {
  const workload = { requests: 'batchAck', path: '/v1/a/acks', queue: 'q', per: 2, expect: 200, total: 100 };

  it('sends full batches of leased jobs only', () => {
    requestsOf({ ...consume, total: 1 }, TARGETS, () => `[{${ID}one"},{${ID}two"},{${ID}three"}]`);
    const requests = requestsOf(workload, TARGETS);

    expect(requests).toHaveLength(1);
    expect(requests[0]).toMatch(/^POST \/v1\/a\/acks HTTP\/1\.1\r\nHost: bench\r\nX-Token: token-a\r\n/);
    expect(JSON.parse(requests[0]?.split('\r\n\r\n')[1] ?? '')).toEqual({
      acks: [
        { queue: 'q', id: 'one', lease: 1 },
        { queue: 'q', id: 'two', lease: 1 },
      ],
    });
  });

  it('accepts an answer only if every job of the batch was acknowledged', () => {
    requestsOf({ ...consume, total: 1 }, TARGETS, () => `[{${ID}one"},{${ID}two"}]`);
    const sent = REQUEST_PLANS.batchAck?.(workload, TARGETS).next(0, 0, '');

    const answer = (/** @type {string[]} */ ...statuses) =>
      JSON.stringify({ results: statuses.map((status) => ({ queue: 'q', id: 'x', status })) });
    expect(sent?.check?.(answer('acked', 'acked'))).toBe(true);
    expect(sent?.check?.(answer('acked', 'not_found'))).toBe(false);
  });
});
