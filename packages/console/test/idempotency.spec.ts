import { idempotencyKeys } from '../src/lib/idempotency.js';

describe('the idempotency keys of a dialog', () => {
  const publish = { method: 'POST', path: '/v1/demo/jobs', body: '{"queue":"mail"}' };

  it('are the same for the same call, and differ for another body and in another dialog', () => {
    const keyOf = idempotencyKeys();
    const key = keyOf(publish);
    expect(key).toMatch(/^[\d-]{7,}$/);
    const other = keyOf({ ...publish, body: '{"queue":"news"}' });
    expect(other).not.toBe(key);
    expect(keyOf({ ...publish })).toBe(key);
    expect(idempotencyKeys()(publish)).not.toBe(key);
  });

  it('are for publishes and starts of operations alone', () => {
    const isKeyed = (method: string, path: string): boolean =>
      idempotencyKeys()({ method, path, body: '{}' }) !== undefined;
    expect(isKeyed('POST', '/v1/demo/operations')).toBe(true);
    for (const path of ['/v1/demo/jobs/a/cancel', '/v1/demo/operations/a/stop', '/v1/demo/queues/jobs'])
      expect([path, isKeyed('POST', path)]).toEqual([path, false]);
    expect(isKeyed('GET', '/v1/demo/jobs')).toBe(false);
  });
});
