import { allocated } from '../measure/redis-memory.mjs';
import { compareRuns } from './compare.mjs';
import { growthVerdicts } from '../scenarios/growth.mjs';
import { callgrindCount, perfCount } from '../measure/instructions.mjs';
import { median } from '../measure/quantiles.mjs';
import { ratiosOf } from '../measure/turns.mjs';
import { callsOf } from '../servers/redis.mjs';
import { ticksUpTo } from './svg.mjs';
import { judge, medianOf } from '../scenarios/throughput.mjs';

/** @param {number} server @param {number} redis @param {number} commands */
const cost = (server, redis = 1, commands = 2) => ({ server, redis, commands });

/** Rounds in which both candidates cost so much, whatever they do. */
const rounds = (/** @type {object} */ empty, /** @type {object} */ full) => {
  const same = (/** @type {object} */ one) => ({
    publish: [one, one],
    consume: [one, one],
    ack: [one, one],
  });
  return { e: 10, bareRate: 50_000, of: { empty: same(empty), full: same(full) } };
};

describe('the growth of a store', () => {
  it('is the change of cost by filling the store: a slower process or machine does not count', () => {
    const before = rounds(cost(10), cost(11));
    const after = rounds(cost(20, 2), cost(22, 2));

    const ratios = ratiosOf({ before, after, full: 'full', empty: 'empty' });

    expect(ratios.publish).toEqual({ server: 1, redis: 1, commands: 1 });
  });

  it('misses its target if one operation costs too much CPU of the server, CPU of Redis or commands', () => {
    const flat = { server: 1.04, redis: 1.3, commands: 1 };
    const sized = (/** @type {object} */ consume) => [
      {
        comparisons: [{ name: 'x', ratios: { publish: flat, consume: { ...flat, ...consume }, ack: flat } }],
      },
    ];

    expect(growthVerdicts(sized({}))[0]?.met).toBe(true);
    expect(growthVerdicts(sized({ server: 1.06 }))[0]?.met).toBe(false);
    expect(growthVerdicts(sized({ redis: 1.4 }))[0]?.met).toBe(false);
    expect(growthVerdicts(sized({ commands: 1.1 }))[0]?.met).toBe(false);
  });
});

describe('a row of the benchmark report', () => {
  const configuration = { aof: /** @type {const} */ ('off'), workers: 1, e: 10, bareRate: 104_000, rows: [] };
  const row = { key: 'publish', name: 'publish', server: 13, redis: 5, rate: 57_000 };

  it('has a verdict on CPU in multiples of E, and a verdict on its rate that is scaled to the machine', () => {
    expect(judge(configuration, row)).toMatchObject({
      multiple: 1.8,
      isCheap: true,
      isFast: true,
      target: { rate: 56_000 },
    });
    expect(judge(configuration, { ...row, server: 13.1, rate: 55_000 })).toMatchObject({
      isCheap: false,
      isFast: false,
    });
  });

  it('has no verdict on CPU if no CPU was measured', () => {
    expect(judge(configuration, { ...row, server: NaN }).isCheap).toBeNull();
  });

  it('has the median of each figure if it was repeated', () => {
    const repeated = [3, 1, 2].map((n) => ({ ...row, rate: n, server: 10 * n }));
    expect(medianOf(repeated)).toEqual({ ...row, rate: 2, server: 20 });
    expect(median([4, 1, 2, 3])).toBe(2.5);
  });
});

describe('a comparison of two benchmark runs', () => {
  const run = (/** @type {number} */ server, /** @type {number} */ e) => ({
    configurations: { s: { e, rows: [{ key: 'publish', name: 'publish', server, redis: 0, rate: 1 }] } },
  });

  it('marks a cost that changed by 15 %, after division by the E of each run', () => {
    expect(compareRuns(run(20, 10), run(40, 20))[0]).not.toMatch(/MORE|less/);
    expect(compareRuns(run(20, 10), run(23, 10))[0]).toMatch(/\+15\.0 % MORE/);
    expect(compareRuns(run(20, 10), run(17, 10))[0]).toMatch(/−15\.0 % less/);
  });
});

it('callsOf counts the commands of Redis, and the scripts among them', () => {
  const stats =
    'cmdstat_evalsha:calls=3,usec=1\r\ncmdstat_hget:calls=10,usec=1\r\ncmdstat_config|get:calls=2,usec=1\r\n';
  expect(callsOf(stats)).toEqual({ commands: 15, scripts: 3 });
});

it('the benchmark reads the number of instructions from the output of perf and of callgrind', () => {
  expect(perfCount('123456,,instructions:u,1000,100.00,,\n')).toBe(123_456);
  expect(perfCount('<not supported>,,instructions:u,0,100.00,,\n')).toBeNaN();
  expect(perfCount('')).toBeNaN();

  const state = 'events: Ir\nevents-1: 1000\ncalls-1-0: 1\nevents-1-0: 900\nevents-2: 7\nframes-2: 6\n';
  expect(callgrindCount(state)).toBe(1_007);
});

it('allocated computes what jemalloc allocates with a quantum of 8 bytes (of Redis) and 16 bytes (of Debian)', () => {
  const sizes = [1, 24, 25, 64, 65, 127, 129, 257];
  expect(sizes.map((size) => allocated(size, 8))).toEqual([8, 24, 32, 64, 80, 128, 160, 320]);
  expect(sizes.map((size) => allocated(size, 16))).toEqual([8, 32, 32, 64, 80, 128, 160, 320]);
});

it('ticksUpTo labels an axis with round numbers', () => {
  expect(ticksUpTo(33_000)).toEqual([0, 10_000, 20_000, 30_000, 40_000]);
  expect(ticksUpTo(0.9)).toEqual([0, 0.2, 0.4, 0.6, 0.8, 1]);
});
