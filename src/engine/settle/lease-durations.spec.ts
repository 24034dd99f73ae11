import { UlidMinter } from '../../domain/ids.js';
import { LeaseDurations } from './lease-durations.js';

describe('lease durations', () => {
  const minter = new UlidMinter();
  const ids = Array.from({ length: 500 }, () => minter.mint(1_795_000_000_123));

  it('return how long a lease ran at its first end, and -1 at its second end', () => {
    const clock = new LeaseDurations();
    for (const [i, id] of ids.entries()) clock.begin(id, i, 10_000, 0);

    expect(ids.map((id, i) => clock.end(id, 2 * i))).toEqual(ids.map((_, i) => i));
    expect(ids.map((id) => clock.end(id, 1_000))).toEqual(ids.map(() => -1));
  });

  it('return -1 for an expired and for an unknown lease', () => {
    const clock = new LeaseDurations();
    clock.begin('mine', 1_000, 2_000, 0);

    expect(clock.end('yours', 1_500)).toBe(-1);
    expect(clock.end('mine', 2_001)).toBe(-1);
  });

  it('count from the last lease of a job', () => {
    const clock = new LeaseDurations();
    clock.begin('job', 1_000, 2_000, 0);
    clock.begin('job', 5_000, 6_000, 0);

    expect(clock.end('job', 5_300)).toBe(300);
  });
});
