/** NATS JetStream: a stream with the policy of a work queue, on files. */
import { freePort } from '../../../scripts/setup/free-port.mjs';
import { start as run } from '../../measure/processes.mjs';
import { connects } from '../launch.mjs';

export const PROGRAMS = { 'nats-server': 'nats-server' };
/** Version 2.9 has no setting for an fsync before the answer: it syncs every two minutes. */
export const MODES = {
  relaxed: [
    'file storage; 2.9 has no setting for fsync',
    'a pull consumer that holds up to 500 messages',
    'acks without an answer',
  ],
};

/** @param {import('../launch.mjs').Place} place */
export async function start({ folder }) {
  const port = await freePort();
  const server = run('nats-server', ['-js', '-sd', folder, '-a', '127.0.0.1', '-p', String(port)]);
  await connects(server, port);
  return { address: { port }, processes: [server] };
}

/** @param {{ port: number }} address */
export async function open({ port }) {
  const { AckPolicy, connect, RetentionPolicy, StorageType, StringCodec } = await import('nats');
  const connection = await connect({ servers: `127.0.0.1:${port}` });
  const manager = await connection.jetstreamManager();
  const stream = { retention: RetentionPolicy.Workqueue, storage: StorageType.File };
  await manager.streams
    .info('JOBS')
    .catch(() => manager.streams.add({ name: 'JOBS', subjects: ['jobs'], ...stream }));
  const consumer = { ack_policy: AckPolicy.Explicit, ack_wait: 3_600e9, max_ack_pending: 10_000 };
  await manager.consumers.add('JOBS', { durable_name: 'workers', ...consumer });
  const [jetstream, codec] = [connection.jetstream(), StringCodec()];
  return {
    publish: (text) => jetstream.publish('jobs', codec.encode(text)),
    publishMany: (texts) => Promise.all(texts.map((text) => jetstream.publish('jobs', codec.encode(text)))),
    async work(_count, handle) {
      const messages = await (
        await jetstream.consumers.get('JOBS', 'workers')
      ).consume({ max_messages: 500 });
      const ended = (async () => {
        for await (const message of messages) {
          handle(codec.decode(message.data));
          message.ack();
        }
      })();
      return async () => {
        await messages.close();
        await ended;
        await connection.flush();
      };
    },
    close: () => connection.close(),
  };
}
