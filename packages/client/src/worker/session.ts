import type { SessionInfo } from '../driver.js';
import { randomHex } from '../random-hex.js';
import { VERSION } from '../version.js';

/** One running worker: its id, which no other has, and what the server shows of it. */
export interface Session {
  readonly id: string;
  /** But for the queues, which may grow with its handlers. */
  readonly info: Omit<SessionInfo, 'queues'>;
}

export interface SessionOptions {
  readonly name?: string | undefined;
  readonly concurrency: number;
}

const USUAL_NAME = 'worker';
/** Characters of an id that are taken from the name. */
const MAX_PREFIX = 64;
const MAX_NAME = 255;
const RANDOM_BYTES = 8;

/** The part of Node.js's `process` that is used; browsers have none, and older versions no `getBuiltinModule`. */
interface NodeProcess {
  readonly pid: number;
  getBuiltinModule?(name: 'node:os'): { hostname(): string };
}

/** @returns a session that begins now; its id is the name, as far as an id can hold it, and a random part */
export function newSession({ name = USUAL_NAME, concurrency }: SessionOptions): Session {
  const prefix = name.replaceAll(/[^A-Za-z0-9_-]+/g, '-').slice(0, MAX_PREFIX);
  // An id begins with a letter or a digit.
  const readable = prefix.replace(/^[-_]+/, '') || USUAL_NAME;
  return {
    id: `${readable}-${randomHex(RANDOM_BYTES)}`,
    info: {
      name: name.slice(0, MAX_NAME),
      ...processInfo(),
      version: VERSION,
      language: 'javascript',
      concurrency,
      startedAt: new Date(),
    },
  };
}

function processInfo(): { host?: string; pid?: number } {
  const { process } = globalThis as { process?: NodeProcess };
  if (process === undefined) return {};
  const os = process.getBuiltinModule?.('node:os');
  return { pid: process.pid, ...(os && { host: os.hostname() }) };
}
