import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs';

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
  /** A heartbeat or an acknowledgement that was sent so long ago has failed. */
  | { readonly what: 'unanswered'; readonly ms: number; readonly code: string }
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

/** What a process has written so far. Each line is read once: the proxies of the workers are in the process that reads. */
export class Journal {
  private readonly known: JournalEntry[] = [];
  private readBytes = 0;

  constructor(readonly path: string) {}

  /** The line that the process was killed in is left out. */
  get entries(): readonly JournalEntry[] {
    if (!existsSync(this.path)) return this.known;
    const file = openSync(this.path, 'r');
    const added = Buffer.alloc(fstatSync(file).size - this.readBytes);
    readSync(file, added, 0, added.length, this.readBytes);
    closeSync(file);
    const end = added.lastIndexOf('\n') + 1;
    this.readBytes += end;
    for (const line of added.toString('utf8', 0, end).split('\n').slice(0, -1)) {
      this.known.push(JSON.parse(line) as JournalEntry);
    }
    return this.known;
  }
}
