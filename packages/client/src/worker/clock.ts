/** The monotonic clock of workers, from which leases are counted. A test can replace it; timers stay those of the machine. */
export const clock = {
  /** @returns milliseconds since a fixed moment */
  nowMs: (): number => performance.now(),
};
