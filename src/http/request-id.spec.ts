import { decodeTime, isValid } from 'ulid';
import { nextRequestId } from './request-id.js';

const MANY = 1_000_000;

describe('request ids', () => {
  it('are ULIDs of the time at which they were made', () => {
    const before = Date.now();
    const id = nextRequestId();

    expect(isValid(id)).toBe(true);
    expect(decodeTime(id)).toBeGreaterThanOrEqual(before);
    expect(decodeTime(id)).toBeLessThanOrEqual(Date.now());
  });

  it('are in order and never the same, a million of them', () => {
    let last = '';
    let isInOrder = true;
    for (let i = 0; i < MANY; i++) {
      const id = nextRequestId();
      isInOrder &&= id > last && id.length === 26;
      last = id;
    }

    expect(isInOrder).toBe(true);
    expect(isValid(last)).toBe(true);
  });
});
