import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/** A request before it is bytes. */
export interface WireRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** Where a client is in its request when it hangs up. Only the last three have sent all of it. */
export const STAGES = [
  'before the first byte',
  'within the request',
  'after the head',
  'before the last chunk',
  'before it may send the body',
  'after the last byte',
  'while the answer is made',
  'at the first byte of the answer',
] as const;
export type Stage = (typeof STAGES)[number];
const SENT_ALL: readonly Stage[] = STAGES.slice(-3);

/** The longest that a client waits before it hangs up, in ms. */
const MAX_WAIT_MS = 60;

/** Whether a server may have acted on a request whose client hung up at this stage. */
export function sendsAll(stage: Stage): boolean {
  return SENT_ALL.includes(stage);
}

/**
 * Sends a request on a connection of its own and hangs up at a stage of it. Resolves when the connection is closed on this side.
 *
 * @param random numbers in [0, 1): how the body is framed, where the bytes end, how long it waits, and whether it ends by a reset
 */
export async function hangUp(
  port: number,
  request: WireRequest,
  stage: Stage,
  random: () => number,
): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true });
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.on('error', () => undefined);
  const isReset = random() < 0.3;
  await new Promise((resolve) => socket.once('connect', resolve).once('close', resolve));
  await send(socket, request, stage, random);
  if (isReset) socket.resetAndDestroy();
  else socket.destroy();
  await closed;
}

async function send(
  socket: Socket,
  request: WireRequest,
  stage: Stage,
  random: () => number,
): Promise<unknown> {
  const isChunked = stage === 'before the last chunk' || random() < 0.6;
  const expects = stage === 'before it may send the body' || random() < 0.15;
  const { head, body } = bytesOf(request, isChunked, expects);
  const all = head + body;
  const waitMs = random() < 0.5 ? random() * 5 : random() * MAX_WAIT_MS;
  const received = Promise.race([new Promise((resolve) => socket.once('data', resolve)), sleep(MAX_WAIT_MS)]);
  switch (stage) {
    case 'before the first byte':
      return sleep(random() < 0.5 ? 0 : waitMs);
    case 'within the request':
      return write(socket, all.slice(0, 1 + Math.floor(random() * (all.length - 2))));
    case 'after the head':
      // Without a body the head is all of the request.
      await write(socket, body === '' ? head.slice(0, -2) : head);
      return sleep(waitMs);
    case 'before the last chunk':
      await write(socket, body === '' ? head.slice(0, -2) : head + body.slice(0, -3));
      return sleep(waitMs);
    case 'before it may send the body':
      await write(socket, body === '' ? head.slice(0, -2) : head);
      return received;
    case 'after the last byte':
      return write(socket, all);
    case 'while the answer is made':
      await write(socket, all);
      return sleep(waitMs);
    case 'at the first byte of the answer':
      await write(socket, all);
      return received;
  }
}

function bytesOf(request: WireRequest, isChunked: boolean, expects: boolean): { head: string; body: string } {
  const { method, path, headers, body } = request;
  const lines = Object.entries({ host: 'localhost', ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  if (body !== undefined)
    lines.push(
      isChunked ? 'transfer-encoding: chunked\r\n' : `content-length: ${Buffer.byteLength(body)}\r\n`,
    );
  if (expects) lines.push('expect: 100-continue\r\n');
  const head = `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`;
  return { head, body: isChunked && body !== undefined ? chunked(body) : (body ?? '') };
}

/** In two chunks, and the last one. The text is ASCII. */
function chunked(body: string): string {
  const middle = Math.ceil(body.length / 2);
  const chunks = [body.slice(0, middle), body.slice(middle)].filter((chunk) => chunk !== '');
  return [...chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`), '0\r\n\r\n'].join('');
}

function write(socket: Socket, bytes: string): Promise<void> {
  return new Promise((resolve) => {
    if (socket.destroyed) resolve();
    else socket.write(bytes, 'latin1', () => resolve());
  });
}
