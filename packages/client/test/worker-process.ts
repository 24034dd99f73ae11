/**
 * A worker in a process of its own: `worker-process.ts URL NAMESPACE TOKEN QUEUE OPTIONS`. Handlers are chosen by the
 * type of the job; each line that it prints is a step.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Handler, Pumphouse, type WorkerOptions } from '../src/node.js';

const [url = '', namespace = '', token = '', queue = '', options = '{}'] = process.argv.slice(2);
const print = (text: string): void => void process.stdout.write(`${text}\n`);

const worker = new Pumphouse({ url, namespace, token }).worker({
  queues: [queue],
  logger: {
    warn: (message, { id = '' }) => print(`warn ${message} ${String(id)}`),
    error: (message) => print(`error ${message}`),
  },
  ...(JSON.parse(options) as Partial<WorkerOptions>),
});
const take: Handler = async ({ data, attempts }, { signal }) => {
  print(`begun ${attempts}`);
  signal.addEventListener('abort', () => print(`aborted ${(signal.reason as { code: string }).code}`));
  await sleep(data as number);
  print('ended');
  return 'result';
};
worker.handle('takes', take);
worker.handle('breaks', async (job, context) => {
  await take(job, context);
  throw new Error('it breaks at its end');
});
worker.handle('blocks', ({ data }) => {
  print('blocks');
  const endMs = performance.now() + (data as number);
  while (performance.now() < endMs);
});
worker.handle('stops', (_job, { signal }) => {
  signal.addEventListener('abort', () => print('stops aborted'));
  print('stops');
  // Behind the end of this handler, and before its ack is sent.
  setTimeout(() => process.kill(process.pid, 'SIGSTOP'), 1);
});
worker.handle('ignores', async () => {
  print('begun');
  // Keeps the process alive, whatever happens.
  await new Promise(() => setInterval(() => undefined, 1_000));
});
print('running');
await worker.run({ signals: true });
print('stopped');
