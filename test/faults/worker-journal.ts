import { existsSync, readFileSync } from 'node:fs';

/** The data of a job: what its handler does, and for how long. */
export interface JobData {
  readonly ms: number;
  /** At its first attempt it blocks the event loop for longer than the lease, or throws. */
  readonly does: 'block' | 'throw' | 'work';
}

/** What one process of `worker-program.ts` is to be. */
export interface ProgramSettings {
  /** Over HTTP, or in process: over Redis alone. */
  readonly mode: 'http' | 'redis';
  /** The built module of the client, or of the worker in process. */
  readonly library: string;
  readonly url: string;
  readonly namespace: string;
  readonly token: string;
  readonly queue: string;
  readonly ttrMs: number;
  readonly name: string;
  /** The file to write to. */
  readonly journal: string;
}

/** One thing that a worker's process did. */
export type WorkerStep =
  | { readonly what: 'running' | 'stopped' }
  | { readonly what: 'warned'; readonly message: string }
  /** The event loop was blocked for so long until now, or the process stood still. */
  | { readonly what: 'stalled'; readonly ms: number }
  /** A handler blocks it from now on. */
  | { readonly what: 'blocking'; readonly ms: number }
  | JobStep;

export type JobStep = { readonly id: string; readonly lease: number } & (
  | { readonly what: 'begun'; readonly attempts: number }
  | { readonly what: 'aborted'; readonly code: string }
  | { readonly what: 'failed' | 'ended' }
  /** An acknowledgement is sent, or answered; `late`: one that the handler sent by itself, under a lease in doubt. */
  | { readonly what: 'acking' }
  | { readonly what: 'answered' | 'late'; readonly status: string }
);

export type JournalEntry = WorkerStep & { readonly atMs: number };

/** What a process has written so far. The line that it was killed in is left out. */
export function readJournal(path: string): JournalEntry[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as JournalEntry);
}
