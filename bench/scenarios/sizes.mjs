/** Sizes of the workloads: in full, or for a first look. */

export const FULL = {
  throughput: { jobs: 60_000, cycles: 20_000, bare: 100_000, warm: 25_000, repeats: 3 },
  growth: {
    rounds: 5,
    jobs: 25_000,
    bare: 50_000,
    warm: 25_000,
    backlogs: [0, 10_000, 100_000, 1_000_000, 5_000_000],
    /** The many-queues stores: queues in all, jobs in each. */
    queues: 10_000,
    namespaces: 1_000,
    jobsEach: 100,
    /** Queues of the small store that requests are spread over evenly. */
    fewQueues: 1_000,
    restMs: 3_000,
    /** About two of the janitor's rounds. */
    idleMs: 40_000,
  },
  bytes: { jobs: 1_000_000, samples: 2_000 },
  start: { times: 5, workers: [1, 2] },
};

/** @type {typeof FULL} */
export const QUICK = {
  throughput: { jobs: 12_000, cycles: 4_000, bare: 30_000, warm: 10_000, repeats: 1 },
  growth: {
    ...FULL.growth,
    rounds: 1,
    jobs: 8_000,
    bare: 20_000,
    warm: 10_000,
    backlogs: [0, 100_000],
    queues: 1_000,
    namespaces: 100,
    fewQueues: 100,
    restMs: 1_000,
    idleMs: 3_000,
  },
  bytes: { jobs: 64_000, samples: 500 },
  start: { times: 1, workers: [1] },
};
