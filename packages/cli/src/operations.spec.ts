import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Command } from 'commander';
import { TestApp } from '../../../test/support/app.js';
import { everyCommand, program, run } from './program.js';

const WORKERS_CALL = 'a call of workers, under a lease: the worker of @pumphouse/client sends it';
const BY_PROGRAMS = 'for programs: by @pumphouse/client or HTTP';

/** The command of each operation of the native API; or null, and why there is none. */
const COMMANDS: Readonly<Record<string, string | readonly [null, string]>> = {
  publishJobs: 'job publish',
  putJob: [null, BY_PROGRAMS],
  getJob: 'job show',
  explainJob: 'why',
  explainQueue: 'why',
  explainRecurringJob: 'why',
  listJobs: 'job ls',
  cancelJob: 'job cancel',
  cancelJobs: [null, `${BY_PROGRAMS}: all or none; the command cancels one after the other`],
  revokeJob: 'job revoke',
  deleteJob: 'job rm',
  updateJob: 'job move',
  addJobDependencies: [null, BY_PROGRAMS],
  removeJobDependencies: [null, BY_PROGRAMS],
  logJob: [null, WORKERS_CALL],
  getJobTags: [null, '`job show` shows the tags with the rest of the job'],
  addJobTags: [null, BY_PROGRAMS],
  removeJobTags: [null, BY_PROGRAMS],
  startOperation: 'dead respawn',
  listOperations: 'operation ls',
  getOperation: 'operation show',
  stopOperation: 'operation stop',
  undoOperation: 'operation undo',
  listTags: [null, BY_PROGRAMS],
  listFailureGroups: 'dead groups',
  listTrackedJobs: [null, BY_PROGRAMS],
  trackJob: [null, BY_PROGRAMS],
  untrackJob: [null, BY_PROGRAMS],
  // Only of jobs that the command itself has published, in a queue of its own.
  leaseJobs: 'bench',
  ackJobs: 'bench',
  ackJob: [null, WORKERS_CALL],
  heartbeatJob: [null, WORKERS_CALL],
  releaseJob: [null, WORKERS_CALL],
  retryJob: [null, WORKERS_CALL],
  failJob: [null, WORKERS_CALL],
  listWorkers: 'worker ls',
  getWorker: 'worker show',
  quietWorker: 'worker quiet',
  stopWorker: 'worker stop',
  deleteWorker: [null, WORKERS_CALL],
  endWorkerWaits: [null, WORKERS_CALL],
  heartbeatWorker: [null, WORKERS_CALL],
  listDeadJobs: 'dead ls',
  respawnDeadJobs: 'job retry',
  moveDeadJobs: 'dead move',
  deleteDeadJobs: 'dead rm',
  listQueues: 'queue ls',
  getQueue: 'queue show',
  listFairKeys: 'queue keys',
  updateQueue: 'queue set',
  deleteQueue: 'queue rm',
  pauseQueue: 'queue pause',
  resumeQueue: 'queue resume',
  drainQueue: 'queue drain',
  purgeQueue: 'queue purge',
  listTargets: 'target ls',
  getTarget: 'target show',
  putTarget: 'target set',
  updateTarget: 'target set',
  deleteTarget: 'target rm',
  rotateTarget: 'target rotate',
  pauseTarget: 'target pause',
  resumeTarget: 'target resume',
  testTarget: 'target test',
  listRecurringJobs: 'recurring ls',
  getRecurringJob: 'recurring show',
  createRecurringJob: [null, '`recurring apply` sets each rule under its id, with PUT'],
  replaceRecurringJob: 'recurring apply',
  updateRecurringJob: 'recurring set',
  deleteRecurringJob: 'recurring rm',
  pauseRecurringJob: 'recurring pause',
  resumeRecurringJob: 'recurring resume',
  runRecurringJob: 'recurring run',
  listUpcomingSlots: 'recurring next',
  previewSchedule: 'recurring preview',
  getStatistics: 'stats',
  listSettings: [null, 'by curl: set once for a namespace'],
  getSetting: [null, 'by curl: set once for a namespace'],
  updateSetting: [null, 'by curl: set once for a namespace'],
  resetSetting: [null, 'by curl: set once for a namespace'],
  listVariables: 'variable ls',
  getVariable: 'variable show',
  setVariable: 'variable set',
  deleteVariable: 'variable rm',
  streamEvents: 'tail',
  getOpenApiDocument: [null, 'a document, not a call: /v1/openapi.json, /docs'],
};

/** Command lines that make the calls of the map, in this order. HOOK is a URL, FILE has a recurring job. */
const LINES = [
  ...[
    'job publish a 1 --id one',
    'job publish a 1 --id two',
    'job show one',
    'job ls',
    'job set one --tries 9',
    'job move b one',
  ],
  ...['why one', 'why --queue a', 'why --recurring nightly'],
  ...['job cancel one', 'job revoke two', 'job rm two', 'bench --jobs 2'],
  ...['worker ls', 'worker show none', 'worker quiet none', 'worker stop none'],
  ...['dead groups', 'dead ls --queue a', 'dead respawn --queue a --yes', 'dead move b --id one --yes'],
  ...['operation ls', 'operation show none', 'operation stop none', 'operation undo none', 'job retry two'],
  ...[
    'dead rm --id one --yes',
    'queue ls',
    'queue show a',
    'queue keys a',
    'queue set a max_running=5',
    'queue pause a',
  ],
  ...['queue resume a', 'queue drain a', 'queue purge a --state all --yes', 'queue rm a'],
  ...[
    'target set hook HOOK',
    'target set hook --body job',
    'target ls',
    'target show hook',
    'target test hook',
  ],
  ...['target rotate hook', 'target pause hook', 'target resume hook', 'target rm hook'],
  ...['recurring apply FILE --yes', 'recurring ls', 'recurring show nightly', 'recurring next nightly'],
  ...['recurring set nightly --every 2m --priority 1', 'recurring preview @daily --tz UTC'],
  ...['recurring pause nightly', 'recurring resume nightly', 'recurring run nightly', 'recurring rm nightly'],
  ...['stats', 'variable set v 1', 'variable ls', 'variable show v', 'variable rm v', 'tail --count 1'],
];

type Paths = Readonly<Record<string, Readonly<Record<string, { readonly operationId?: string }>>>>;

describe('the commands of the command line', () => {
  let app: TestApp;
  let paths: Paths;
  let folder: string;

  beforeAll(async () => {
    app = await TestApp.start({ PUMPHOUSE_PUSH__ENABLED: 'true' });
    folder = mkdtempSync(join(tmpdir(), 'pumphouse-cli-'));
    const { json } = await app.get('/v1/openapi.json', { token: null });
    ({ paths } = json as { paths: Paths });
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true });
    await app.stop();
  });

  const namedCommands = (): [operation: string, command: string][] =>
    Object.entries(COMMANDS).flatMap(([operation, command]) =>
      typeof command === 'string' ? [[operation, command]] : [],
    );

  it('are mapped to all operations of the native API, with a reason for each operation without a command', () => {
    const operations = Object.values(paths).flatMap((path) =>
      Object.values(path).flatMap(({ operationId }) => operationId ?? []),
    );
    expect(operations.length).toBeGreaterThan(60);
    expect(Object.keys(COMMANDS).sort()).toEqual([...new Set(operations)].sort());
    const existing = everyCommand(program({ out: () => undefined, err: () => undefined })).map(pathOf);
    expect(namedCommands().filter(([, command]) => !existing.includes(command))).toEqual([]);
  });

  it('send the operations that the map gives for them', async () => {
    const file = join(folder, 'recurring.toml');
    writeFileSync(file, '[nightly]\nschedule = { every_ms = 60000 }\njob = { queue = "b" }\n');
    const places: Record<string, string> = { HOOK: 'https://example.com/hook', FILE: file };
    const server = ['--url', `http://127.0.0.1:${String(app.port)}`, '--namespace', app.namespace];
    const made = new Map<string, Set<string>>();
    let current = '';
    app.server.api.app.getHttpServer().prependListener('request', ({ method, url }: IncomingMessage) => {
      made.set(current, (made.get(current) ?? new Set()).add(operationOf(paths, method ?? '', url ?? '')));
    });
    for (const line of LINES) {
      const args = line.split(' ').map((arg) => places[arg] ?? arg);
      current = args.slice(0, ['bench', 'stats', 'tail', 'why'].includes(args[0] ?? '') ? 1 : 2).join(' ');
      // A `tail` that saw the event of a publish ends.
      const sent: Promise<unknown>[] = [];
      const publish = (): void => void sent.push(app.put('b', 'x'));
      const publishing = current === 'tail' ? setInterval(publish, 100) : undefined;
      const output = { out: () => undefined, err: () => undefined };
      const code = await run([...args, ...server, '--token', app.token], output);
      clearInterval(publishing);
      await Promise.all(sent);
      // 1: refused, as there is no dead job and no such worker. 2 would be wrong usage.
      expect([line, code === 2]).toEqual([line, false]);
    }
    const missing = namedCommands().filter(([operation, command]) => !made.get(command)?.has(operation));
    expect(missing).toEqual([]);
  });
});

/** The operation of a request. */
function operationOf(paths: Paths, method: string, url: string): string {
  const parts = (url.split('?')[0] ?? '').split('/');
  const fits = (path: string): boolean => {
    const wanted = path.split('/');
    return (
      wanted.length === parts.length &&
      wanted.every((part, i) => part === parts[i] || (part.startsWith('{') && parts[i] !== ''))
    );
  };
  // `/jobs/cancel` stands before `/jobs/{id}`.
  const [found] = Object.entries(paths)
    .filter(([path, methods]) => fits(path) && method.toLowerCase() in methods)
    .sort(([a], [b]) => a.split('{').length - b.split('{').length);
  return found?.[1][method.toLowerCase()]?.operationId ?? `${method} ${url}`;
}

function pathOf(command: Command): string {
  const { parent } = command;
  return parent?.parent ? `${pathOf(parent)} ${command.name()}` : command.name();
}
