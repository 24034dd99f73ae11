import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { rawAnswer } from '../../http/answer/client-error.js';
import { OVERLOADED_JSON, RETRY_SOON } from '../../http/answer/refuse.js';
import type { FloodMetrics } from '../../metrics/flood-metrics.js';

/** Time that a rejected client has to read its answer, in milliseconds. If closed at once, it would see a reset. */
const LINGER_MS = 1_000;
/** Number of rejected clients that get that time; others are closed at once. */
const MAX_LINGERING = 256;

type Taker = (this: Server, socket: Socket) => void;

/**
 * Accepts up to `max` connections of a server. A further one is answered with 503 before it sends a request, and
 * closed; with TLS it is closed without an answer.
 *
 * Node's own limit closes connections silently. In a cluster it also passes them from worker to worker while all
 * workers are full.
 */
export function boundConnections(server: Server, max: number, { connections, refused }: FloodMetrics): void {
  const takers = server.listeners('connection') as Taker[];
  const canAnswer = !('setSecureContext' in server);
  let lingering = 0;
  server.removeAllListeners('connection');
  server.on('connection', (socket: Socket) => {
    // guard: connections-are-bounded
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
  // Reads what the client has sent: closing with unread bytes sends a reset, which may destroy the answer.
  socket.resume();
  socket.end(rawAnswer(503, OVERLOADED_JSON, RETRY_SOON));
}
