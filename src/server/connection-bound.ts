import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { rawAnswer } from '../http/client-error.js';
import { OVERLOADED_JSON, RETRY_SOON } from '../http/refuse.js';
import type { FloodMetrics } from '../metrics/flood-metrics.js';

/** How long a refused client has to take its answer, in milliseconds: closed at once, it would see a reset. */
const LINGER_MS = 1_000;
/** Refused clients that are given that time; more are cut. */
const MAX_LINGERING = 256;

type Taker = (this: Server, socket: Socket) => void;

/**
 * Takes up to `max` connections of a server. One more is answered 503 before it has said anything, and closed; with TLS it is closed.
 *
 * Node's own bound drops without a word, and in a cluster sends the connection round and round while all workers are full.
 */
export function boundConnections(server: Server, max: number, { connections, refused }: FloodMetrics): void {
  const takers = server.listeners('connection') as Taker[];
  const canAnswer = !('setSecureContext' in server);
  let lingering = 0;
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    if (connections.value < max) {
      connections.value += 1;
      socket.once('close', () => (connections.value -= 1));
      for (const take of takers) take.call(server, socket);
      return;
    }
    refused.connections.value += 1;
    if (!canAnswer || lingering >= MAX_LINGERING) {
      socket.destroy();
      return;
    }
    lingering += 1;
    socket.once('close', () => (lingering -= 1));
    refuse(socket);
  });
}

function refuse(socket: Socket): void {
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once('close', () => clearTimeout(timer)).on('error', () => undefined);
  // What it has sent is read: a close with bytes unread is a reset, which may take the answer with it.
  socket.resume();
  socket.end(rawAnswer(503, OVERLOADED_JSON, RETRY_SOON));
}
