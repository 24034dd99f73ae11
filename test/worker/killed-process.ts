/** A worker over Redis alone: `killed-process.ts REDIS NAMESPACE QUEUE`. Its first handler kills the process. */
import { connect } from '../../packages/engine/src/index.js';

const [redis = '', namespace = '', queue = ''] = process.argv.slice(2);
const pumphouse = await connect({ redis, namespace });
const worker = pumphouse.worker({ queues: [queue], concurrency: 1, prefetch: 1, ttrMs: 1_000 });
worker.handle('*', () => process.kill(process.pid, 'SIGKILL'));
worker.handle({ queue, type: undefined, input: undefined, output: undefined, options: {} }, () =>
  process.kill(process.pid, 'SIGKILL'),
);
await worker.run();
