import { setTimeout as sleep } from 'node:timers/promises';
import { Fail } from '@pumphouse/client';
import { connect, resize } from './jobs.js';

const worker = connect().worker({ concurrency: 4, name: 'image-worker' });

// Middleware runs around each handler.
worker.use(async (job, _context, next) => {
  const startMs = performance.now();
  const result = await next();
  console.log(`${job.type} ${job.id} took ${Math.round(performance.now() - startMs)} ms`);
  return result;
});

worker.handle(resize, async ({ data }, { signal, progress }) => {
  if (!data.file.endsWith('.png')) throw new Fail('only PNG files', { group: 'format' });
  await progress({ percent: 50 });
  await sleep(20, undefined, { signal }); // the work; `signal` aborts it when the lease is lost
  return { file: `${data.width}/${data.file}`, bytes: data.width * 3 };
});

// Until SIGTERM or SIGINT: running jobs may end, others go back to their queue.
await worker.run({ signals: true });
