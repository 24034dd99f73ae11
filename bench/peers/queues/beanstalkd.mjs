/** beanstalkd, with its binlog. Its protocol has one command at a time for each connection, so each caller has its own. */
import { freePort } from '../../../scripts/setup/free-port.mjs';
import { start as run } from '../../measure/processes.mjs';
import { connects } from '../launch.mjs';

export const PROGRAMS = { beanstalkd: 'beanstalkd' };
export const MODES = {
  relaxed: ['-f 1000: an fsync at most each second', 'a connection for each client'],
  synced: ['-f 0: an fsync for each write', 'a connection for each client'],
};

/** @param {import('../launch.mjs').Place} place */
export async function start({ folder, mode }) {
  const port = await freePort();
  const sync = mode === 'synced' ? '0' : '1000';
  const server = run('beanstalkd', ['-l', '127.0.0.1', '-p', String(port), '-b', folder, '-f', sync]);
  await connects(server, port);
  return { address: { port }, processes: [server] };
}

/** @param {{ port: number }} address @param {number} callers */
export async function open({ port }, callers) {
  const { default: Jackd } = await import('jackd');
  const connect = async () => {
    const client = new Jackd();
    await client.connect({ host: '127.0.0.1', port });
    await client.use('jobs');
    await client.watch('jobs');
    return client;
  };
  const producers = await Promise.all(Array.from({ length: callers }, connect));
  const all = [...producers];
  return {
    publish: (text, caller) => producers[caller].put(text, { ttr: 3_600 }),
    publishLater: (text, delayMs) => producers[0].put(text, { ttr: 3_600, delay: delayMs / 1_000 }),
    async work(count, handle) {
      let isOver = false;
      const workers = await Promise.all(Array.from({ length: count }, connect));
      all.push(...workers);
      const ended = workers.map(async (client) => {
        while (!isOver) {
          const job = await client.reserveWithTimeout(1).catch((error) => {
            if (/TIMED_OUT/.test(String(error.response ?? error))) return null;
            throw error;
          });
          if (job === null) continue;
          handle(String(job.payload));
          await client.delete(job.id);
        }
      });
      return async () => {
        isOver = true;
        await Promise.all(ended);
      };
    },
    close: () => Promise.all(all.map((client) => client.disconnect())),
  };
}
