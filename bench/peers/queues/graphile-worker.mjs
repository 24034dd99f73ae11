/** graphile-worker on PostgreSQL. */
import { POSTGRES, startPostgres } from '../launch.mjs';

export const PROGRAMS = POSTGRES;
const COMMON = [
  'localQueue.size = concurrency + 1',
  'completeJobBatchDelay 0',
  'pollInterval 1 s, for jobs with a delay: notifications come for others',
];
export const MODES = {
  relaxed: ['synchronous_commit off', ...COMMON],
  synced: ['synchronous_commit on', ...COMMON],
};

export const start = startPostgres;

/** @param {{ url: string }} address @param {number} callers */
export async function open({ url }, callers) {
  const { Logger, makeWorkerUtils, run } = await import('graphile-worker');
  const { default: pg } = await import('pg');
  const logger = new Logger(() => () => undefined);
  const pgPool = new pg.Pool({ connectionString: url, max: Math.max(callers, 10) + 2 });
  pgPool.on('error', () => undefined);
  pgPool.on('connect', (connection) => connection.on('error', () => undefined));
  const utils = await makeWorkerUtils({ pgPool, logger });
  await utils.migrate();
  return {
    publish: (text) => utils.addJob('job', { text }),
    publishMany: (texts) => utils.addJobs(texts.map((text) => ({ identifier: 'job', payload: { text } }))),
    publishLater: (text, delayMs) => utils.addJob('job', { text }, { runAt: new Date(Date.now() + delayMs) }),
    async work(concurrentJobs, handle) {
      const localQueue = { size: concurrentJobs + 1 };
      const worker = { concurrentJobs, localQueue, completeJobBatchDelay: 0, pollInterval: 1_000 };
      const taskList = { job: ({ text }) => Promise.resolve(handle(text)) };
      const runner = await run({ pgPool, logger, taskList, noHandleSignals: true, preset: { worker } });
      return () => runner.stop();
    },
    async close() {
      await utils.release();
      await pgPool.end();
    },
  };
}
