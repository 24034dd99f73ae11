import { callCounter, remedyText } from '../src/lib/answers.js';

describe('the answer of a call that changes jobs', () => {
  const purge = { method: 'POST', path: '/v1/demo/queues/mail/purge', body: '{"states":["done"]}' };

  it('has the sum of a purge that is repeated until it is complete', () => {
    const { sum, more } = callCounter();
    const first = { jobs: { done: 5, cancelled: 2 }, complete: false };
    expect(sum(first)).toBe(7);
    expect(more({ body: first }, purge)).toBe(purge);
    const last = { jobs: { done: 1, cancelled: 0 }, complete: true };
    expect(sum(last)).toBe(8);
    expect(more({ body: last }, purge)).toBeUndefined();
  });

  it('is not repeated if it says nothing of that', () => {
    for (const body of [undefined, { jobs: 0 }, { queue: 'mail', length: 3 }])
      expect(callCounter().more({ body }, purge)).toBeUndefined();
  });

  it('says how many jobs a remedy has changed, also if there are none', () => {
    const text = (body: unknown): string => remedyText('run it again', callCounter().sum(body));
    expect(text({ jobs: 2, dry_run: false })).toBe('Done for 2 jobs: run it again.');
    expect(text({ jobs: 1, dry_run: false })).toBe('Done for 1 job: run it again.');
    expect(text({ jobs: 0, dry_run: false })).toMatch(/^Nothing was changed/);
    for (const body of [undefined, { queue: 'mail' }]) expect(text(body)).toBe('Done: run it again.');
  });
});
