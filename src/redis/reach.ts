import { type Socket, connect as connectTcp } from 'node:net';
import { connect as connectTls } from 'node:tls';
import type { NodeAddress } from '../domain/pool.js';

/** What listens at an address, by its first bytes. `none`: nothing does, or it keeps silent. */
export type Speech = 'redis' | 'tls' | 'other' | 'none';

/** How long it may take to connect, and to answer, in milliseconds. */
const PATIENCE_MS = 1_000;
/** The first byte of an alert of TLS. */
const ALERT = 0x15;
/** The first byte of a reply of Redis: a status or an error. */
const REPLIES = [...Buffer.from('+-')];

/** Finds out what a port speaks, by a PING and then by a greeting of TLS. Never throws. */
export async function speechAt(address: NodeAddress): Promise<Speech> {
  const [first] = await answerOf(address);
  if (first === ALERT || (first === undefined && (await greetsOverTls(address)))) return 'tls';
  if (first === undefined) return 'none';
  return REPLIES.includes(first) ? 'redis' : 'other';
}

/** @returns why no connection can be opened, as the code of the system; null if one can */
export async function unreachable(address: NodeAddress): Promise<string | null> {
  const socket = connectTcp(address);
  return settled<string | null>(
    socket,
    (done) => {
      socket.once('connect', () => done(null));
      socket.once('error', (error: NodeJS.ErrnoException) => done(error.code ?? error.message));
    },
    'ETIMEDOUT',
  );
}

/** The first bytes of the reply to PING; empty if there is none. */
async function answerOf(address: NodeAddress): Promise<Buffer> {
  const socket = connectTcp(address, () => socket.write('PING\r\n'));
  return settled(
    socket,
    (done) => {
      socket.once('data', done);
      for (const event of ['error', 'close']) socket.once(event, () => done(Buffer.alloc(0)));
    },
    Buffer.alloc(0),
  );
}

async function greetsOverTls(address: NodeAddress): Promise<boolean> {
  // Whose certificate it is does not matter here: nothing is sent.
  const socket = connectTls({ ...address, rejectUnauthorized: false });
  return settled(
    socket,
    (done) => {
      socket.once('secureConnect', () => done(true));
      // Such as the wish for a client's certificate.
      socket.once('error', ({ code = '' }: NodeJS.ErrnoException) => done(code.includes('_ALERT_')));
      socket.once('close', () => done(false));
    },
    false,
  );
}

/** What `listen` reports, or `late` after a while; closes the socket. */
function settled<T>(socket: Socket, listen: (done: (value: T) => void) => void, late: T): Promise<T> {
  return new Promise<T>((resolve) => {
    const done = (value: T): void => {
      clearTimeout(timer);
      socket.on('error', () => undefined);
      socket.destroy();
      resolve(value);
    };
    const timer = setTimeout(() => done(late), PATIENCE_MS);
    listen(done);
  });
}
