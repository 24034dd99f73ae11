import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { TestApp } from '../support/app.js';
import { GO, PYTHON } from './languages.js';

const WORKERS = 'the worker of the client sends it';
const BY_CALL = 'the method for any other call sends it';
const NO_CALL = 'it is no call with an answer in JSON';

/** Operations without a method of their own in the clients for Python and Go, and why. */
const WITHOUT_METHOD: Readonly<Record<string, string>> = {
  cancelJobs: BY_CALL,
  addJobDependencies: BY_CALL,
  removeJobDependencies: BY_CALL,
  getJobTags: BY_CALL,
  addJobTags: BY_CALL,
  removeJobTags: BY_CALL,
  listTags: BY_CALL,
  listTrackedJobs: BY_CALL,
  trackJob: BY_CALL,
  untrackJob: BY_CALL,
  createRecurringJob: BY_CALL,
  listFairKeys: BY_CALL,
  listTargets: BY_CALL,
  getTarget: BY_CALL,
  putTarget: BY_CALL,
  updateTarget: BY_CALL,
  deleteTarget: BY_CALL,
  rotateTarget: BY_CALL,
  pauseTarget: BY_CALL,
  resumeTarget: BY_CALL,
  testTarget: BY_CALL,
  listSettings: BY_CALL,
  getSetting: BY_CALL,
  updateSetting: BY_CALL,
  resetSetting: BY_CALL,
  leaseJobs: WORKERS,
  ackJobs: WORKERS,
  ackJob: WORKERS,
  heartbeatJob: WORKERS,
  releaseJob: WORKERS,
  retryJob: WORKERS,
  failJob: WORKERS,
  endWorkerWaits: WORKERS,
  heartbeatWorker: WORKERS,
  streamEvents: NO_CALL,
  getOpenApiDocument: NO_CALL,
};

/** Names of methods that do not follow from the id of the operation. */
const NAMED: Readonly<Record<string, string>> = {
  publishJobs: 'publish',
  replaceRecurringJob: 'putRecurringJob',
};

type Paths = Readonly<Record<string, Readonly<Record<string, { readonly operationId?: string }>>>>;

const textOf = (...path: string[]): string => readFileSync(join(...path), 'utf8');

function pythonMethods(file: string): Set<string> {
  const found = textOf(PYTHON, 'src', 'pumphouse', file).matchAll(
    /^ {4}(?:async )?(?:def )?(\w+)(?: = |\()/gm,
  );
  return new Set([...found].map(([, name = '']) => name));
}

function goMethods(): Set<string> {
  const files = readdirSync(GO).filter((name) => name.endsWith('.go') && !name.endsWith('_test.go'));
  const found = files.flatMap((name) => [
    ...textOf(GO, name).matchAll(/^func \(c \*Client\) ([A-Z]\w*)\(/gm),
  ]);
  return new Set(found.map(([, name = '']) => name));
}

const inPython = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const inGo = (name: string): string =>
  name.replace(/^(?:get|list)/, '').replace(/^[a-z]/, (letter) => letter.toUpperCase());

describe('methods of the clients', () => {
  let app: TestApp;
  let operations: string[];
  beforeAll(async () => {
    app = await TestApp.start();
    const { json } = await app.get('/v1/openapi.json', { token: null });
    const { paths } = json as { paths: Paths };
    operations = Object.values(paths).flatMap((path) =>
      Object.values(path).flatMap(({ operationId }) => operationId ?? []),
    );
  });
  afterAll(() => app.stop());

  it.each([
    ['pumphouse.Pumphouse of Python', pythonMethods('client.py'), inPython],
    ['pumphouse.aio.Pumphouse of Python', pythonMethods('aio.py'), inPython],
    ['Client of Go', goMethods(), inGo],
  ])('exist for each operation of the native API, or there is a reason: %s', (_client, methods, nameIn) => {
    expect(operations.length).toBeGreaterThan(60);
    const isThere = (operation: string): boolean => methods.has(nameIn(NAMED[operation] ?? operation));
    const missing = operations.filter((operation) => !isThere(operation));
    expect(missing.sort()).toEqual(Object.keys(WITHOUT_METHOD).sort());
  });
});
