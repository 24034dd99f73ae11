import { UlidMinter } from '../../domain/ids.js';
import { LeaseDurations } from './lease-durations.js';

describe('lease durations', () => {
  const minter = new UlidMinter();
  const ids = Array.from({ length: 500 }, () => minter.mint(1_795_000_000_123));

  it('return how long a lease ran at its first end, and -1 at its second end', () => {
    const clock = new LeaseDurations();
    for (const [i, id] of ids.entries()) clock.begin(id, i, 10_000, 0, false);

    expect(ids.map((id, i) => clock.end(id, 2 * i))).toEqual(ids.map((_, i) => i));
    expect(ids.map((id) => clock.end(id, 1_000))).toEqual(ids.map(() => -1));
  });

  it('return -1 for an expired and for an unknown lease', () => {
    const clock = new LeaseDurations();
    clock.begin('mine', 1_000, 2_000, 0, false);

    expect(clock.end('yours', 1_500)).toBe(-1);
    expect(clock.end('mine', 2_001)).toBe(-1);
  });

  it('know whether the last lease was of an extended queue', () => {
    const clock = new LeaseDurations();
    for (const [i, id] of ids.entries()) clock.begin(id, i, 10_000, 0, i % 2 === 1);

    expect(ids.map((id) => clock.isExtended(id))).toEqual(ids.map((_, i) => i % 2 === 1));
    clock.begin(ids[1]!, 0, 10_000, 0, false);
    expect(clock.isExtended(ids[1]!)).toBe(false);
    clock.end(ids[3]!, 1);
    expect([ids[3]!, 'unknown'].map((id) => clock.isExtended(id))).toEqual([false, false]);
  });

  it('count from the last lease of a job', () => {
    const clock = new LeaseDurations();
    clock.begin('job', 1_000, 2_000, 0, false);
    clock.begin('job', 5_000, 6_000, 0, false);

    expect(clock.end('job', 5_300)).toBe(300);
  });
});
