import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { slowness } from './test/support/slowness.mjs';

// The build leaves specs out; jest must not.
const swc = JSON.parse(readFileSync(new URL('.swcrc', import.meta.url), 'utf8'));
delete swc.exclude;

// Many specs wait for a time-out or for a process to start: four workers leave two cores idle for a twelfth of the time.
const CORES = availableParallelism();
const WORKERS = Math.max(5, CORES);

/** Measured once, for all workers. Each of them has only its share of the cores. */
const SLOWNESS = Number((process.env.PUMPHOUSE_TEST_SLOWNESS ??= String((slowness() * WORKERS) / CORES)));

/** Failovers take minutes: they belong to `npm run chaos`, which says how many rounds it wants. */
const left = process.env.PUMPHOUSE_CHAOS_ROUNDS === undefined ? ['\\.long\\.spec\\.ts$'] : [];

/** Specs sit beside the code; what needs Redis or sockets is under test/. Real Redis, started once by test/support. */
export default {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    // As `paths` of tsconfig.json.
    '^#src/(.*)$': '<rootDir>/src/$1',
    '^(\\.{1,2}/.*)\\.js$': '$1',
    // The build links its dist; specs run the sources.
    '^@pumphouse/client$': '<rootDir>/packages/client/src/node.ts',
    '^@willsoto/nestjs-prometheus$': '<rootDir>/test/support/nestjs-prometheus.mjs',
  },
  transform: { '^.+\\.ts$': ['@swc/jest', { ...swc, swcrc: false }] },
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
  // Jest keeps the ES modules of every file that a worker has run: a worker grows to 3 GB, and collecting garbage stops it for seconds.
  workerIdleMemoryLimit: '600MB',
  // Times of all files are printed.
  slowTestThreshold: 0,
};
