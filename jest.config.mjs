import { availableParallelism } from 'node:os';
import { slowness } from './test/support/slowness.mjs';

// Many specs wait for a time-out or for a process to start: four workers leave two cores idle for a twelfth of the time.
const CORES = availableParallelism();
const WORKERS = Math.max(5, CORES);

/** Measured once, for all workers. Each of them has only its share of the cores. */
const SLOWNESS = Number((process.env.PUMPHOUSE_TEST_SLOWNESS ??= String((slowness() * WORKERS) / CORES)));

/** Failovers take minutes: they belong to `npm run chaos`, which says how many rounds it wants. */
const left = process.env.PUMPHOUSE_CHAOS_ROUNDS === undefined ? ['\\.long\\.spec\\.ts$'] : [];

/** Specs sit beside the code; what needs Redis or sockets is under test/. Real Redis, started once by test/support. */
export default {
  testEnvironment: '<rootDir>/test/support/jest/environment.cjs',
  runtime: '<rootDir>/test/support/jest/runtime.cjs',
  testMatch: [
    '<rootDir>/{src,packages/*/src}/**/*.spec.ts',
    '<rootDir>/test/**/*.spec.ts',
    '<rootDir>/packages/*/test/**/*.spec.ts',
    '<rootDir>/{bench,scripts}/**/*.spec.mjs',
  ],
  testPathIgnorePatterns: ['/node_modules/', ...left],
  globalSetup: '<rootDir>/test/support/global-setup.mjs',
  globalTeardown: '<rootDir>/test/support/global-teardown.mjs',
  setupFilesAfterEnv: ['<rootDir>/test/support/empty-store.ts'],
  // Only a test that hangs should meet it.
  testTimeout: 100_000 * SLOWNESS,
  testSequencer: '<rootDir>/test/support/sequencer.mjs',
  maxWorkers: WORKERS,
  // What specs leave behind.
  workerIdleMemoryLimit: '1GB',
  // Times of all files are printed.
  slowTestThreshold: 0,
};
