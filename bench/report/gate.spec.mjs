import { verdictsOf } from './gate.mjs';

/** @param {number} server @param {number} instructions @param {string} [key] */
const cost = (server, instructions, key = 'publish') => ({ key, name: key, server, instructions });

/** One row whose second run of the build before costs as much as the first, unless it is given. */
const judged = (/** @type {any} */ now, /** @type {any} */ again = cost(100, 1_000)) =>
  verdictsOf({ before: [cost(100, 1_000)], again: [again], now: [now] });

describe('the gate of two builds', () => {
  it('allows each row at most 2 % more instructions of Redis and 5 % more CPU of the server', () => {
    expect(judged(cost(100, 1_019))[0]).toMatchObject({ met: true, instructions: { bound: 0.02 } });
    expect(judged(cost(100, 1_021))[0]).toMatchObject({ met: false, instructions: { met: false } });
    expect(judged(cost(104, 1_000))[0]).toMatchObject({ met: true, server: { bound: 0.05 } });
    expect(judged(cost(106, 1_000))[0]).toMatchObject({ met: false, server: { met: false } });
    expect(judged(cost(50, 500))[0]).toMatchObject({ met: true, server: { change: -0.5 } });
  });

  it('allows all rows together at most 2 % more CPU of the server', () => {
    const before = [cost(100, 1), cost(10, 1, 'ack')];
    const all = (/** @type {number} */ publish, /** @type {number} */ ack) =>
      verdictsOf({ before, again: before, now: [cost(publish, 1), cost(ack, 1, 'ack')] }).at(-1);

    expect(all(102, 10)).toMatchObject({ name: 'all rows', met: true });
    expect(all(103, 10)).toMatchObject({ met: false });
    expect(all(103, 9)).toMatchObject({ met: true });
  });

  it.each([104, 100 / 1.04])(
    'allows the sum of all rows the difference between two earlier runs: 100 and %d',
    (again) => {
      expect(judged(cost(103.9, 1_000), cost(again, 1_000)).at(-1)).toMatchObject({ met: true });
      expect(judged(cost(104.1, 1_000), cost(again, 1_000)).at(-1)).toMatchObject({ met: false });
    },
  );

  it('allows each figure of a row the difference between two runs of the earlier build', () => {
    const again = cost(108, 1_030);
    expect(judged(cost(107, 1_029), again)[0]).toMatchObject({ met: true });
    expect(judged(cost(107, 1_031), again)[0]).toMatchObject({ met: false });
    expect(judged(cost(109, 1_029), again)[0]).toMatchObject({ met: false });
  });

  it('fails if a figure is missing', () => {
    expect(judged(cost(100, NaN))[0]?.met).toBe(false);
    expect(judged(cost(100, 1_000, 'ack'))[0]?.met).toBe(false);
    expect(judged(cost(100, 1_000), cost(100, NaN))[0]?.met).toBe(false);
  });
});
