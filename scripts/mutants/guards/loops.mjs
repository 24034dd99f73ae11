/**
 * Background loops: one run at a time, and nothing left once they are stopped.
 *
 * @type {readonly import('../guards.mjs').Guard[]}
 */
export const LOOPS = [
  {
    id: 'loop-runs-once',
    name: 'loops: a loop never runs twice at once',
    off: 'remove',
    spec: 'src/engine/timers/loop.spec.ts',
    test: 'a loop › runs again only after its current run has ended, if it is scheduled during that run',
  },
  {
    id: 'loop-stop-waits',
    name: 'loops: a stop waits for the current run',
    off: 'remove',
    spec: 'src/engine/timers/loop.spec.ts',
    test: 'a loop › stops after the current run, and leaves no timeout',
  },
  {
    id: 'error-ends-a-run-not-the-loop',
    name: 'loops: an error ends a run and not the loop',
    off: { replace: 'throw error;' },
    spec: 'src/engine/timers/loop.spec.ts',
    test: 'a loop › continues after an error, and reports the error under its own name',
  },
  {
    id: 'pump-clears-timeouts',
    name: 'loops: the timers of namespaces end with the pump',
    off: 'remove',
    spec: 'test/engine/loops.spec.ts',
    test: 'the loops of an engine › have a timeout each for what they wait for, and none once they are stopped',
  },
  {
    id: 'fired-timer-leaves-registry',
    name: 'loops: a fired timer leaves the registry',
    off: 'remove',
    spec: 'src/pump/registry-timers.spec.ts',
    test: "Nest's registry of timeouts › contains the name of a timer only while the timer is pending",
  },
];
