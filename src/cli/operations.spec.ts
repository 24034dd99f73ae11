import type { Command } from 'commander';
import { TestApp } from '../../test/support/app.js';
import { everyCommand, program } from './program.js';

const WORKERS_CALL = 'a call of workers, under a lease: the worker of @pumphouse/client sends it';
const BY_PROGRAMS = 'for programs: by @pumphouse/client or HTTP';

/** The command of each operation of the native API; or null, and why there is none. */
const COMMANDS: Readonly<Record<string, string | readonly [null, string]>> = {
  publishJobs: 'job publish',
  putJob: [null, BY_PROGRAMS],
  getJob: 'job get',
  listJobs: 'job ls',
  cancelJob: 'job cancel',
  cancelJobs: [null, `${BY_PROGRAMS}: all or none; the command cancels one after the other`],
  revokeJob: 'job revoke',
  deleteJob: 'job rm',
  updateJob: 'job move',
  addJobDependencies: [null, BY_PROGRAMS],
  removeJobDependencies: [null, BY_PROGRAMS],
  logJob: [null, WORKERS_CALL],
  getJobTags: 'job get',
  addJobTags: [null, BY_PROGRAMS],
  removeJobTags: [null, BY_PROGRAMS],
  listTags: [null, BY_PROGRAMS],
  listFailureGroups: 'dead groups',
  listTrackedJobs: [null, BY_PROGRAMS],
  trackJob: [null, BY_PROGRAMS],
  untrackJob: [null, BY_PROGRAMS],
  leaseJobs: 'bench',
  ackJobs: 'bench',
  ackJob: [null, WORKERS_CALL],
  heartbeatJob: [null, WORKERS_CALL],
  releaseJob: [null, WORKERS_CALL],
  retryJob: [null, WORKERS_CALL],
  failJob: [null, WORKERS_CALL],
  listWorkers: 'workers ls',
  getWorker: 'workers ls',
  quietWorker: 'workers quiet',
  stopWorker: 'workers stop',
  deleteWorker: [null, WORKERS_CALL],
  heartbeatWorker: [null, WORKERS_CALL],
  listDeadJobs: 'dead ls',
  respawnDeadJobs: 'dead respawn',
  moveDeadJobs: 'dead move',
  deleteDeadJobs: 'dead rm',
  listQueues: 'queue ls',
  getQueue: 'queue show',
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
  getRecurringJob: 'recurring get',
  createRecurringJob: 'recurring apply',
  replaceRecurringJob: 'recurring apply',
  updateRecurringJob: 'recurring apply',
  deleteRecurringJob: 'recurring rm',
  pauseRecurringJob: 'recurring pause',
  resumeRecurringJob: 'recurring resume',
  runRecurringJob: 'recurring run',
  listUpcomingSlots: 'recurring next',
  previewSchedule: [null, BY_PROGRAMS],
  getStatistics: 'stats',
  listSettings: [null, 'by curl: set once for a namespace'],
  getSetting: [null, 'by curl: set once for a namespace'],
  updateSetting: [null, 'by curl: set once for a namespace'],
  resetSetting: [null, 'by curl: set once for a namespace'],
  streamEvents: 'tail',
  getOpenApiDocument: [null, 'a document, not a call: /v1/openapi.json, /docs'],
};

describe('the command line', () => {
  it('has a command for each operation of the native API, or a reason why there is none', async () => {
    const app = await TestApp.start();
    const { json } = await app.get('/v1/openapi.json', { token: null });
    await app.stop();
    const { paths } = json as { paths: Record<string, Record<string, { operationId?: string }>> };
    const operations = Object.values(paths).flatMap((path) =>
      Object.values(path).flatMap(({ operationId }) => operationId ?? []),
    );
    expect(operations.length).toBeGreaterThan(60);
    expect(Object.keys(COMMANDS).sort()).toEqual([...new Set(operations)].sort());
    const existing = everyCommand(program({ out: () => undefined, err: () => undefined })).map(pathOf);
    const named = Object.values(COMMANDS).filter((command) => typeof command === 'string');
    expect(named.filter((command) => !existing.includes(command))).toEqual([]);
  });
});

function pathOf(command: Command): string {
  const { parent } = command;
  return parent?.parent ? `${pathOf(parent)} ${command.name()}` : command.name();
}
