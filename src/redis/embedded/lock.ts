import { randomUUID } from 'node:crypto';
import { linkSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EmbeddedRedisError } from './error.js';
import { isRunning, markOf, type ProcessMark } from './process.js';

/** A lock's record of the Redis that its owner started. */
export interface RecordedRedis {
  /** Null while it is being started: it may or may not run then. */
  readonly process: ProcessMark | null;
  /** Redis's own `run_id`; null until its first reply. */
  readonly runId: string | null;
  readonly socketPath: string;
}

interface LockFile {
  readonly owner: ProcessMark | null;
  readonly redis: RecordedRedis | null;
}

/**
 * Ownership of a data folder: `owner-N.lock`, where the highest N is valid. A file is created atomically (by link), and
 * only the owner writes it again. A new owner takes over from a dead one by creating N+1, which only one process can
 * do. So no process removes a lock based on an outdated read.
 */
export class OwnerLock {
  private constructor(
    private readonly dir: string,
    private readonly generation: number,
    private recorded: RecordedRedis | null,
  ) {}

  /**
   * Takes the folder if its owner is dead or has released it.
   *
   * @throws {EmbeddedRedisError} its owner is alive
   */
  static take(dir: string): OwnerLock {
    for (let attempt = 0; attempt < 20; attempt++) {
      const newest = newestIn(dir);
      const owner = newest?.record.owner ?? null;
      if (owner !== null && isRunning(owner)) throw inUse(dir, owner.pid);
      const lock = new OwnerLock(dir, (newest?.generation ?? 0) + 1, newest?.record.redis ?? null);
      if (lock.create()) return lock;
    }
    throw new EmbeddedRedisError(`${dir} is being taken by other processes at this moment; start again`);
  }

  /** The last recorded Redis, of this owner or of the one before. */
  get redis(): RecordedRedis | null {
    return this.recorded;
  }

  /** Records which Redis runs on the folder, for a later owner that must adopt it. */
  record(redis: RecordedRedis | null): void {
    this.recorded = redis;
    this.replace({ owner: markOf(process.pid), redis });
  }

  /** Releases the folder. The record of a Redis that still runs stays. */
  release(): void {
    this.replace({ owner: null, redis: this.recorded });
  }

  private create(): boolean {
    const draft = this.draft({ owner: markOf(process.pid), redis: this.recorded });
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

  private replace(record: LockFile): void {
    renameSync(this.draft(record), this.path);
  }

  private draft(record: LockFile): string {
    const path = join(this.dir, `owner-${randomUUID()}.draft`);
    writeFileSync(path, JSON.stringify(record), { mode: 0o600 });
    return path;
  }

  private get path(): string {
    return pathOf(this.dir, this.generation);
  }
}

/** The error for a second server on one data folder. */
export function inUse(dir: string, pid?: number): EmbeddedRedisError {
  const who = pid === undefined ? 'another server' : `the server with process id ${pid}`;
  return new EmbeddedRedisError(
    `${dir} belongs to ${who}, which runs: a data folder has one owner; give this one another data.dir`,
  );
}

function newestIn(dir: string): { generation: number; record: LockFile } | null {
  const generations = generationsIn(dir);
  if (generations.length === 0) return null;
  const generation = Math.max(...generations);
  return { generation, record: readLockFile(pathOf(dir, generation)) };
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

/**
 * Reads a lock. An unreadable one was cut short by a crash of the whole machine: its owner and its Redis do not run any
 * more.
 */
function readLockFile(path: string): LockFile {
  try {
    const record: unknown = JSON.parse(readFileSync(path, 'utf8'));
    if (typeof record !== 'object' || record === null) return { owner: null, redis: null };
    const { owner, redis } = record as Partial<Record<keyof LockFile, unknown>>;
    return { owner: isMark(owner) ? owner : null, redis: isRecordedRedis(redis) ? redis : null };
  } catch {
    return { owner: null, redis: null };
  }
}

function isMark(value: unknown): value is ProcessMark {
  if (typeof value !== 'object' || value === null) return false;
  const { pid, born } = value as Partial<Record<keyof ProcessMark, unknown>>;
  return Number.isSafeInteger(pid) && (born === null || typeof born === 'string');
}

function isRecordedRedis(value: unknown): value is RecordedRedis {
  if (typeof value !== 'object' || value === null) return false;
  const { process: mark, runId, socketPath } = value as Partial<Record<keyof RecordedRedis, unknown>>;
  const hasRunId = runId === null || typeof runId === 'string';
  return (mark === null || isMark(mark)) && hasRunId && typeof socketPath === 'string';
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
