import type { Agent, Server } from 'node:http';
import supertest from 'supertest';

/** What a request has beside its method and path. */
export interface Request {
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent byte for byte, with no type but one that `headers` names. */
  readonly body?: string | Uint8Array | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Left out: a connection of its own. */
  readonly agent?: Agent;
}

/** What came back. */
export interface Response {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly text: string;
}

/** Superagent's types leave it out. */
interface HasAgent {
  agent(agent: Agent): unknown;
}

/**
 * Sends a request by supertest, which is kept from looking at the type and the content of a body.
 *
 * @param server or the URL that `path` is appended to
 */
export async function play(
  server: Server | string,
  method: string,
  path: string,
  { headers = {}, body, signal, agent }: Request = {},
): Promise<Response> {
  const test = new supertest.Test(server, method, path)
    .set(headers)
    .serialize((bytes: Buffer) => bytes as never)
    .parse(readText);
  if (agent !== undefined) (test as unknown as HasAgent).agent(agent);
  if (body !== undefined) void test.send(Buffer.from(body));
  if (signal !== undefined) abortWith(test, signal);
  const response = await test;
  const text: unknown = response.body;
  return { status: response.status, headers: response.headers, text: typeof text === 'string' ? text : '' };
}

function abortWith(test: supertest.Test, signal: AbortSignal): void {
  const abort = (): void => void test.abort();
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort, { once: true });
}

function readText(response: supertest.Response, done: (error: Error | null, text: string) => void): void {
  let text = '';
  response.setEncoding('utf8');
  response.on('data', (chunk: string) => (text += chunk));
  response.on('end', () => done(null, text));
}
