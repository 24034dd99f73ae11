import { randomUUID } from 'node:crypto';
import { linkSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EmbeddedRedisError } from './error.js';
import { isRunning, markOf, type ProcessMark } from './process.js';

/** What a lock says of the Redis that its owner started. */
export interface NotedRedis {
  /** Null while it is being started: then it may, or may not, run. */
  readonly process: ProcessMark | null;
  /** Redis's own `run_id`; null until it has answered for the first time. */
  readonly runId: string | null;
  readonly socketPath: string;
}

interface Note {
  readonly owner: ProcessMark | null;
  readonly redis: NotedRedis | null;
}

/**
 * Who owns a data folder: `owner-N.lock`, the highest N counts. A file is made whole (by link) and only the owner
 * writes it again; taking over from a dead owner is making N+1, which only one of several can do. So nobody ever
 * removes a lock on the strength of what he read a moment before.
 */
export class OwnerLock {
  private constructor(
    private readonly dir: string,
    private readonly generation: number,
    private noted: NotedRedis | null,
  ) {}

  /**
   * Takes the folder, if its owner is dead or has released it.
   *
   * @throws {EmbeddedRedisError} its owner lives
   */
  static take(dir: string): OwnerLock {
    for (let attempt = 0; attempt < 20; attempt++) {
      const newest = newestIn(dir);
      const owner = newest?.note.owner ?? null;
      if (owner !== null && isRunning(owner)) throw inUse(dir, owner.pid);
      const lock = new OwnerLock(dir, (newest?.generation ?? 0) + 1, newest?.note.redis ?? null);
      if (lock.create()) return lock;
    }
    throw new EmbeddedRedisError(`${dir} is being taken by other processes at this moment; start again`);
  }

  /** The Redis last noted, by this owner or by the one before it. */
  get redis(): NotedRedis | null {
    return this.noted;
  }

  /** Writes down which Redis runs on the folder, for whoever must adopt it after us. */
  note(redis: NotedRedis | null): void {
    this.noted = redis;
    this.replace({ owner: markOf(process.pid), redis });
  }

  /** Gives the folder up. What is noted of a Redis that still runs stays. */
  release(): void {
    this.replace({ owner: null, redis: this.noted });
  }

  private create(): boolean {
    const draft = this.draft({ owner: markOf(process.pid), redis: this.noted });
    try {
      linkSync(draft, this.path);
    } catch (error) {
      if (isCode(error, 'EEXIST')) return false;
      throw error;
    } finally {
      rmSync(draft, { force: true });
    }
    const generations = generationsIn(this.dir);
    if (Math.max(...generations) !== this.generation) {
      rmSync(this.path, { force: true });
      return false;
    }
    for (const old of generations)
      if (old !== this.generation) rmSync(pathOf(this.dir, old), { force: true });
    return true;
  }

  private replace(note: Note): void {
    renameSync(this.draft(note), this.path);
  }

  private draft(note: Note): string {
    const path = join(this.dir, `owner-${randomUUID()}.draft`);
    writeFileSync(path, JSON.stringify(note), { mode: 0o600 });
    return path;
  }

  private get path(): string {
    return pathOf(this.dir, this.generation);
  }
}

/** The error of a second server on one data folder. */
export function inUse(dir: string, pid?: number): EmbeddedRedisError {
  const who = pid === undefined ? 'another server' : `the server with process id ${pid}`;
  return new EmbeddedRedisError(
    `${dir} belongs to ${who}, which runs: a data folder has one owner; give this one another data.dir`,
  );
}

function newestIn(dir: string): { generation: number; note: Note } | null {
  const generations = generationsIn(dir);
  if (generations.length === 0) return null;
  const generation = Math.max(...generations);
  return { generation, note: readNote(pathOf(dir, generation)) };
}

function generationsIn(dir: string): number[] {
  return readdirSync(dir).flatMap((name) => {
    const match = /^owner-(\d+)\.lock$/.exec(name);
    return match === null ? [] : [Number(match[1])];
  });
}

function pathOf(dir: string, generation: number): string {
  return join(dir, `owner-${generation}.lock`);
}

/** A lock that cannot be read was cut short by a crash of the whole machine: nothing of it can still run. */
function readNote(path: string): Note {
  try {
    const note: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (typeof note !== 'object' || note === null) return { owner: null, redis: null };
    const { owner, redis } = note as Partial<Record<keyof Note, unknown>>;
    return { owner: isMark(owner) ? owner : null, redis: isNotedRedis(redis) ? redis : null };
  } catch {
    return { owner: null, redis: null };
  }
}

function isMark(value: unknown): value is ProcessMark {
  if (typeof value !== 'object' || value === null) return false;
  const { pid, born } = value as Partial<Record<keyof ProcessMark, unknown>>;
  return Number.isSafeInteger(pid) && (born === null || typeof born === 'string');
}

function isNotedRedis(value: unknown): value is NotedRedis {
  if (typeof value !== 'object' || value === null) return false;
  const { process: mark, runId, socketPath } = value as Partial<Record<keyof NotedRedis, unknown>>;
  const hasRunId = runId === null || typeof runId === 'string';
  return (mark === null || isMark(mark)) && hasRunId && typeof socketPath === 'string';
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
