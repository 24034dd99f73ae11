/** RabbitMQ: a quorum queue of one node, and publisher confirms. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../../scripts/setup/free-port.mjs';
import { start as run } from '../../measure/processes.mjs';
import { connects } from '../launch.mjs';

export const PROGRAMS = { '/usr/lib/rabbitmq/bin/rabbitmq-server': 'rabbitmq-server' };
/** A quorum queue syncs its log before it confirms, for all messages that have come together. */
export const MODES = {
  synced: [
    'a quorum queue: an fsync before the confirm',
    'prefetch: 50 for each client',
    'acks without an answer',
    'delays: a queue with a TTL that dead-letters into the other',
  ],
};
const PREFETCH = 50;

/** @param {import('../launch.mjs').Place} place */
export async function start({ folder }) {
  const [port, distribution, epmd] = [await freePort(), await freePort(), await freePort()];
  mkdirSync(join(folder, 'log'), { recursive: true });
  writeFileSync(join(folder, 'enabled_plugins'), '[].\n');
  writeFileSync(join(folder, 'rabbitmq.conf'), `listeners.tcp.1 = 127.0.0.1:${port}\n`);
  // Else the server starts one that outlives it.
  const names = run('epmd', ['-address', '127.0.0.1', '-port', String(epmd)]);
  await connects(names, epmd);
  const server = run('/usr/lib/rabbitmq/bin/rabbitmq-server', [], {
    cwd: folder,
    env: {
      ...process.env,
      HOME: folder,
      RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS: '-setcookie bench',
      ERL_EPMD_PORT: String(epmd),
      ERL_EPMD_ADDRESS: '127.0.0.1',
      RABBITMQ_NODENAME: 'bench@localhost',
      RABBITMQ_DIST_PORT: String(distribution),
      RABBITMQ_MNESIA_BASE: join(folder, 'mnesia'),
      RABBITMQ_LOG_BASE: join(folder, 'log'),
      RABBITMQ_PID_FILE: join(folder, 'pid'),
      RABBITMQ_ENABLED_PLUGINS_FILE: join(folder, 'enabled_plugins'),
      RABBITMQ_CONFIG_FILE: join(folder, 'rabbitmq'),
    },
  });
  await connects(server, port);
  return { address: { port }, processes: [server, names] };
}

/** @param {{ port: number }} address */
export async function open({ port }) {
  const { default: amqplib } = await import('amqplib');
  const connection = await amqplib.connect(`amqp://guest:guest@127.0.0.1:${port}`, { noDelay: true });
  const channel = await connection.createConfirmChannel();
  await channel.assertQueue('jobs', { durable: true, arguments: { 'x-queue-type': 'quorum' } });
  const send = (queue, text) =>
    new Promise((resolve, reject) => {
      const options = { persistent: true };
      channel.sendToQueue(queue, Buffer.from(text), options, (error) => (error ? reject(error) : resolve()));
    });
  return {
    publish: (text) => send('jobs', text),
    publishMany: (texts) => Promise.all(texts.map((text) => send('jobs', text))),
    async publishLater(text, delayMs) {
      const queue = `later-${delayMs}`;
      const into = { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': 'jobs' };
      await channel.assertQueue(queue, { durable: true, arguments: { 'x-message-ttl': delayMs, ...into } });
      await send(queue, text);
    },
    async work(count, handle) {
      const consumer = await connection.createChannel();
      await consumer.prefetch(PREFETCH * count);
      await consumer.consume('jobs', (message) => {
        if (message === null) return;
        handle(message.content.toString());
        consumer.ack(message);
      });
      return () => consumer.close();
    },
    close: () => connection.close(),
  };
}
