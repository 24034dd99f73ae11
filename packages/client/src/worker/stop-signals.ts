const SIGNALS = { SIGINT: 2, SIGTERM: 15 } as const;
type StopSignal = keyof typeof SIGNALS;

/** Milliseconds between the end of all work, after a second signal, and the end of the process. */
const EXIT_MS = 500;

/** The part of Node.js's `process` that is used; browsers have none. */
interface SignalProcess {
  exitCode?: number | string | null | undefined;
  on(signal: StopSignal, listener: (signal: StopSignal) => void): unknown;
  off(signal: StopSignal, listener: (signal: StopSignal) => void): unknown;
  exit(code: number): never;
}

/**
 * Calls `first` at the first SIGTERM or SIGINT, and `second` at the next one. After that the process ends: by itself,
 * with the exit code of the signal, or by force if a handler keeps it alive.
 *
 * @returns a function that ends it
 */
export function onStopSignals(first: () => void, second: () => Promise<void>): () => void {
  const { process } = globalThis as { process?: SignalProcess };
  if (process === undefined) throw new TypeError('signals: there are none here');
  let count = 0;
  const listener = (signal: StopSignal): void => {
    count++;
    if (count === 1) first();
    // guard: second-signal-ends-the-process
    if (count !== 2) return;
    const code = 128 + SIGNALS[signal];
    process.exitCode = code;
    void second().finally(() => {
      const timer: { unref?: () => void } = setTimeout(() => process.exit(code), EXIT_MS);
      // It fires only if something else keeps the process alive.
      timer.unref?.();
    });
  };
  const signals = Object.keys(SIGNALS) as StopSignal[];
  for (const signal of signals) process.on(signal, listener);
  return () => {
    for (const signal of signals) process.off(signal, listener);
  };
}
