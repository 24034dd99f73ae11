import { decodeTime, isValid } from 'ulid';
import { nextFastRequestId, nextRequestId } from './request-context.js';

describe.each([
  ['of the router', nextRequestId, 100_000],
  ['of the fast path', nextFastRequestId, 1_000_000],
])('request ids %s', (_, next, many) => {
  it('are ULIDs of their creation time', () => {
    const before = Date.now();
    const id = next();

    expect(isValid(id)).toBe(true);
    expect(decodeTime(id)).toBeGreaterThanOrEqual(before);
    expect(decodeTime(id)).toBeLessThanOrEqual(Date.now());
  });

  it('increase from request to request', () => {
    let last = '';
    let isInOrder = true;
    for (let i = 0; i < many; i++) {
      const id = next();
      isInOrder &&= id > last && id.length === 26;
      last = id;
    }

    expect(isInOrder).toBe(true);
    expect(isValid(last)).toBe(true);
  });
});
