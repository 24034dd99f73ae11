import { decodeTime, isValid } from 'ulid';
import { nextRequestId, RequestIds } from './request-id.js';

const MANY = 1_100_000;

describe('request ids', () => {
  it('are ULIDs of the time at which they were made', () => {
    const before = Date.now();
    const id = nextRequestId();

    expect(isValid(id)).toBe(true);
    expect(decodeTime(id)).toBeGreaterThanOrEqual(before);
    expect(decodeTime(id)).toBeLessThanOrEqual(Date.now());
  });

  it('are in order and never the same, more than a million of them within one millisecond', () => {
    const ids = new RequestIds(() => 1_800_000_000_000);
    let last = '';
    let isInOrder = true;
    for (let i = 0; i < MANY; i++) {
      const id = ids.next();
      isInOrder &&= id > last && id.length === 26;
      last = id;
    }

    expect(isInOrder).toBe(true);
    expect(isValid(last)).toBe(true);
    expect(decodeTime(last)).toBe(1_800_000_000_000);
  });

  it('are in order while the clock runs, and when it steps back', () => {
    let now = 1_800_000_000_000;
    const ids = new RequestIds(() => now);
    const made: string[] = [];
    for (const step of [0, 1, 0, 250, -100_000, 0, 1, 200_000]) {
      now += step;
      for (let i = 0; i < 3; i++) made.push(ids.next());
    }

    expect(made).toEqual([...made].sort());
    expect(new Set(made).size).toBe(made.length);
    expect(decodeTime(made.at(-1)!)).toBe(now);
  });

  it('start at random: two processes do not make the same ones', () => {
    const starts = Array.from({ length: 1_000 }, () => new RequestIds(() => 1_800_000_000_000).next());

    expect(new Set(starts.map((id) => id.slice(10, 22))).size).toBe(starts.length);
  });
});
