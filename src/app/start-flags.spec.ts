import { setTimeout as sleep } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInThisContext } from 'node:vm';
import { beginStart, endStart } from './start-flags.js';

const ROUNDS = 30;
const MOST_ROUNDS = 1_000;
const CALLS = 100_000;

setFlagsFromString('--allow-natives-syntax');
const isOptimised = runInThisContext('(f) => %ActiveTierIsTurbofan(f)') as (f: unknown) => boolean;
const makeSum = runInThisContext('() => { let sum = 0; return (n) => (sum = (sum + n) | 0); }') as () => (
  n: number,
) => number;
// A function is compiled when it is first called.
isOptimised(makeSum);
setFlagsFromString('--no-allow-natives-syntax');

/** Calls a function often. @returns the round in which V8 optimised it; `most` if it did not */
async function roundsUntilOptimised(f: (n: number) => number, most: number): Promise<number> {
  for (let round = 0; round < most; round++) {
    for (let i = 0; i < CALLS; i++) f(i);
    if (isOptimised(f)) return round;
    await sleep(1);
  }
  return most;
}

describe('the start of a process', () => {
  afterEach(() => endStart());

  it('runs without optimising compilers until it ends', async () => {
    const sum = makeSum();
    beginStart();
    expect(await roundsUntilOptimised(sum, ROUNDS)).toBe(ROUNDS);
    endStart();
    expect(await roundsUntilOptimised(sum, MOST_ROUNDS)).toBeLessThan(MOST_ROUNDS);
  });
});
