/** pg-boss on PostgreSQL. */
import { POSTGRES, startPostgres } from '../launch.mjs';

export const PROGRAMS = POSTGRES;
const COMMON = [
  'useListenNotify, and notify of the queue',
  'batches of 100, burstWhenBatchFull',
  'polling each second, for jobs with a delay: notifications come for others',
];
export const MODES = {
  relaxed: ['synchronous_commit off', ...COMMON],
  synced: ['synchronous_commit on', ...COMMON],
};
const BATCH = 100;

export const start = startPostgres;

/** @param {{ url: string }} address @param {number} callers */
export async function open({ url }, callers) {
  const { PgBoss } = await import('pg-boss');
  const boss = new PgBoss({ connectionString: url, max: Math.max(callers, 10), useListenNotify: true });
  boss.on('error', () => undefined);
  await boss.start();
  await boss.createQueue('jobs', { notify: true });
  return {
    publish: (text) => boss.send('jobs', { text }),
    publishMany: (texts) =>
      boss.insert(
        'jobs',
        texts.map((text) => ({ data: { text } })),
      ),
    publishLater: (text, delayMs) =>
      boss.send('jobs', { text }, { startAfter: new Date(Date.now() + delayMs) }),
    async work(count, handle) {
      const polling = { pollingIntervalSeconds: 1, notifyPollingIntervalSeconds: 1 };
      const options = { batchSize: BATCH, burstWhenBatchFull: true, ...polling };
      await boss.work('jobs', { ...options, localConcurrency: Math.min(count, 10) }, (jobs) => {
        for (const { data } of jobs) handle(data.text);
        return Promise.resolve();
      });
      return () => boss.offWork('jobs');
    },
    close: () => boss.stop({ graceful: false }),
  };
}
