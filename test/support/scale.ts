/**
 * How much the tests with faults and with random input do: little in `npm test`, as much as is asked for in `npm run chaos` and
 * `npm run test:full`, which set these variables.
 */

/** How often each fault is played. */
export const ROUNDS = Number(process.env['PUMPHOUSE_CHAOS_ROUNDS'] ?? 1);
/** The long forms: more jobs, queues and steps too. */
export const IS_LONG = ROUNDS > 3;
/** Pause of a producer between two jobs, in ms. In the short form, other specs need the CPU too. */
export const PAUSE_MS = IS_LONG ? 15 : 40;
/** Prints of a failed run name it; the same seed plays the same plan again. */
export const SEED = Number(process.env['PUMPHOUSE_CHAOS_SEED'] ?? Date.now() % 2 ** 31);

/** @param usual how many random sequences `npm test` plays */
export function propertyRuns(usual: number): number {
  return Number(process.env['PUMPHOUSE_PROPERTY_RUNS'] ?? usual);
}

const OFFSET = SEED % 3;
/**
 * In `npm test` a third of the cases, another one for each `round` of three and for each seed; in the long form all. For tests
 * that play each case in several ways.
 */
export function someOf<T>(cases: readonly T[], round: number): readonly T[] {
  return IS_LONG ? cases : cases.filter((_, i) => (i + round + OFFSET) % 3 === 0);
}

/** True: the clock changes of all time zones are looked at, which takes a quarter of an hour; else some of them. */
export const ALL_ZONES = process.env['PUMPHOUSE_ALL_ZONES'] === '1';

/** How many times slower than usual this machine is, as jest.config.mjs has measured it. */
export const SLOWNESS = Number(process.env['PUMPHOUSE_TEST_SLOWNESS'] ?? 1);
