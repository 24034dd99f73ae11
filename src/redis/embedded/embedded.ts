import type { ChildProcess } from 'node:child_process';
import { mkdirSync, realpathSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Log } from '../../domain/log.js';
import { leftBehind } from './adoption.js';
import { EmbeddedRedisError } from './error.js';
import { OwnerLock } from './lock.js';
import { isRunning, logTail, markOf, spawnRedis, usableProgram, type ProcessMark } from './process.js';
import { OWNER_CONNECTION, hangUp, isLoading, probe, within, type LiveRedis } from './probe.js';
import { socketPathOf } from './socket.js';

/** First pause before a dead Redis is started again, in milliseconds; doubled each time. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 10_000;
/** After a Redis has run this long, the first pause applies again, in milliseconds. */
const STABLE_MS = 60_000;
/**
 * A started Redis that does not listen within this time has failed, in milliseconds. Loading its AOF may take longer.
 */
const LISTEN_MS = 30_000;
/**
 * Time for the last fsync, in milliseconds; a Redis that needs longer is left running, and the next start adopts it.
 */
const STOP_MS = 30_000;

export interface EmbeddedRedisOptions {
  readonly pool: string;
  readonly dataDir: string;
  /** When the AOF is synced to disk; `always` by default. Set on an adopted Redis too. */
  readonly appendfsync?: 'everysec' | 'always';
  /** Limit of its data in bytes; 0 or left out: none is set. Set on an adopted Redis too. */
  readonly maxMemoryBytes?: number;
  readonly log: Log;
  /** Path of the program; default: redis-server, else valkey-server, from PATH. */
  readonly program?: string;
  /** Ends the start: loading the data may take minutes. */
  readonly signal?: AbortSignal;
}

/**
 * The Redis that a server runs if no external one is configured. It survives the death of its server, and the next
 * server adopts it: two Redis processes on one AOF would destroy it. It is restarted when it dies, and stopped last.
 */
export class EmbeddedRedis {
  private readonly halt = new AbortController();
  private connection: Redis | null = null;
  private process: ProcessMark | null = null;
  private child: ChildProcess | null = null;
  private upSinceMs = 0;
  private pauseMs = FIRST_PAUSE_MS;
  private recovery: Promise<void> = Promise.resolve();
  private stopping: Promise<void> | null = null;
  private isAdopted = false;

  private constructor(
    private readonly dir: string,
    private path: string,
    private readonly program: string,
    private readonly lock: OwnerLock,
    private readonly log: Log,
    private readonly appendfsync: 'everysec' | 'always',
    private readonly maxMemoryBytes: number,
  ) {}

  /**
   * Locks the data folder `dataDir/pool` and makes sure that one Redis runs on it, adopted or started. Returns when
   * that Redis has loaded its data.
   *
   * @throws {EmbeddedRedisError} another server owns the folder; a foreign Redis is on its socket; there is no usable
   *   program; or it does not start
   * @throws {Error} the signal ended the start; Redis is stopped, its data is as it was
   */
  static async start(options: EmbeddedRedisOptions): Promise<EmbeddedRedis> {
    const program = usableProgram(
      options.program === undefined ? ['redis-server', 'valkey-server'] : [options.program],
    );
    const dir = join(resolve(options.dataDir), options.pool);
    mkdirSync(dir, { recursive: true, mode: 0o700 });
    const real = realpathSync(dir);
    const { log, appendfsync = 'always', maxMemoryBytes = 0, signal } = options;
    signal?.throwIfAborted();
    const lock = OwnerLock.take(real);
    const redis = new EmbeddedRedis(
      real,
      socketPathOf(real),
      program,
      lock,
      log,
      appendfsync,
      maxMemoryBytes,
    );
    const onEnd = (): void => redis.halt.abort();
    signal?.addEventListener('abort', onEnd, { once: true });
    try {
      await redis.begin();
    } catch (error) {
      // guard: signal-stops-loading-redis
      if (redis.isStopping()) await redis.stop();
      else redis.lock.release();
      throw error;
    } finally {
      signal?.removeEventListener('abort', onEnd);
    }
    return redis;
  }

  /** The Unix socket to connect to; constant for the lifetime of this object. */
  get socketPath(): string {
    return this.path;
  }

  /** True if an earlier owner started this Redis. */
  get adopted(): boolean {
    return this.isAdopted;
  }

  /** Process id of the current Redis, or of the last one. */
  get pid(): number | null {
    return this.process?.pid ?? null;
  }

  /**
   * Stops Redis after a last fsync of its AOF, and unlocks the data folder. May be called twice.
   *
   * @throws {EmbeddedRedisError} it still runs after 30 s; it is left running then, for the next start to adopt
   */
  stop(): Promise<void> {
    return (this.stopping ??= this.end());
  }

  private isStopping(): boolean {
    return this.halt.signal.aborted;
  }

  private async begin(): Promise<void> {
    const live = await leftBehind(this.dir, this.path, this.lock.redis);
    if (live === null) {
      await this.launch();
      return;
    }
    this.isAdopted = true;
    this.path = live.socketPath;
    this.log.info({ redisPid: live.pid, dir: this.dir }, 'adopted the embedded Redis of an earlier run');
    await this.settle(live);
  }

  /** Starts the program and waits until it answers. Only if no Redis runs on the folder. */
  private async launch(): Promise<void> {
    this.process = null;
    this.lock.record({ process: null, runId: null, socketPath: this.path });
    const child = spawnRedis(this.program, this.dir, this.path);
    this.child = child;
    child.on('error', (error) => this.log.error({ err: error }, 'cannot run the embedded Redis'));
    this.process = child.pid === undefined ? null : markOf(child.pid);
    this.lock.record({ process: this.process, runId: null, socketPath: this.path });
    const live = await this.listening(child);
    await this.settle(live).catch((error: unknown) => {
      throw isAlive(child) ? error : this.startFailure(child);
    });
    this.log.info({ redisPid: live.pid, dir: this.dir, socket: this.path }, 'started the embedded Redis');
  }

  private async listening(child: ChildProcess): Promise<LiveRedis> {
    const until = Date.now() + LISTEN_MS;
    while (isAlive(child) && Date.now() < until && !this.isStopping()) {
      const answer = await probe(this.path);
      if (answer.kind === 'redis' && answer.pid === child.pid) return answer;
      if (answer.kind === 'redis') hangUp(answer.connection);
      await sleep(10);
    }
    const failure = this.startFailure(child);
    child.kill('SIGTERM');
    throw failure;
  }

  private startFailure(child: ChildProcess): EmbeddedRedisError {
    const how = isAlive(child) ? 'does not listen' : `ended with ${exitOf(child)}`;
    return new EmbeddedRedisError(`the embedded Redis ${how}; the end of its log:\n${logTail(this.dir)}`);
  }

  /** Marks the connection as the owner's, waits until the data is loaded, and watches the connection from then on. */
  private async settle(live: LiveRedis): Promise<void> {
    try {
      await this.prepare(live);
    } catch (error) {
      hangUp(live.connection);
      throw error;
    }
    const { connection } = live;
    this.connection = connection;
    this.upSinceMs = Date.now();
    const onLost = () => {
      this.recovery = this.recover(connection);
    };
    connection.once('end', onLost);
    if (connection.status === 'end') onLost();
  }

  private async prepare({ connection, pid, runId }: LiveRedis): Promise<void> {
    this.process = markOf(pid);
    this.lock.record({ process: this.process, runId, socketPath: this.path });
    await connection.call('CLIENT', 'SETNAME', OWNER_CONNECTION);
    for (let polls = 0; await isLoading(connection); polls++) {
      if (polls % 500 === 499)
        this.log.info({ dir: this.dir }, 'the embedded Redis is still loading its data');
      await sleep(20, undefined, { signal: this.halt.signal });
    }
    await connection.call('CONFIG', 'SET', 'appendfsync', this.appendfsync);
    // Without a limit here, one that an operator has set by hand stays.
    if (this.maxMemoryBytes > 0)
      await connection.call('CONFIG', 'SET', 'maxmemory', String(this.maxMemoryBytes));
  }

  /** Called once per lost connection: finds Redis again or restarts it, until one of both succeeds or we stop. */
  private async recover(lost: Redis): Promise<void> {
    if (this.connection !== lost || this.isStopping()) return;
    this.connection = null;
    if (Date.now() - this.upSinceMs > STABLE_MS) this.pauseMs = FIRST_PAUSE_MS;
    for (;;) {
      await sleep(this.pauseMs, undefined, { signal: this.halt.signal }).catch(() => undefined);
      if (this.isStopping()) return;
      this.pauseMs = Math.min(this.pauseMs * 2, LONGEST_PAUSE_MS);
      try {
        if (await this.revive()) return;
      } catch (error) {
        if (!this.isStopping())
          this.log.error(
            { err: error, nextTryMs: this.pauseMs },
            'the embedded Redis is not available yet; trying again',
          );
      }
    }
  }

  /** Returns false if the process runs but does not answer: a second one on its AOF would destroy it, so we wait. */
  private async revive(): Promise<boolean> {
    if (this.process === null || !isRunning(this.process)) {
      this.log.error(
        { redisPid: this.pid, exit: exitOf(this.child) },
        'the embedded Redis has died; starting it again',
      );
      await this.launch();
      return true;
    }
    const answer = await probe(this.path);
    if (answer.kind !== 'redis') return false;
    if (answer.pid !== this.process.pid) {
      hangUp(answer.connection);
      throw new EmbeddedRedisError(`another Redis, process ${answer.pid}, listens on ${this.path}`);
    }
    await this.settle(answer);
    return true;
  }

  private async end(): Promise<void> {
    this.halt.abort();
    await this.recovery;
    try {
      if (this.process !== null && isRunning(this.process)) await this.shutDown(this.process);
      this.lock.record(null);
    } finally {
      if (this.connection !== null) hangUp(this.connection);
      this.lock.release();
    }
  }

  /**
   * Shuts Redis down. SHUTDOWN writes and fsyncs the AOF before Redis ends; NOSAVE only skips the snapshot, which we do
   * not use.
   */
  private async shutDown(mark: ProcessMark): Promise<void> {
    const until = Date.now() + STOP_MS;
    while (isRunning(mark) && Date.now() < until) {
      // An error reply means "not now" (the first AOF is being written): ask again. A closed connection is success.
      await within(STOP_MS, this.sendShutdown()).catch((error: unknown) => {
        this.log.debug({ err: error }, 'the embedded Redis did not answer SHUTDOWN');
      });
      for (let polls = 0; polls < 50 && isRunning(mark); polls++) await sleep(10);
    }
    if (isRunning(mark)) {
      throw new EmbeddedRedisError(
        `the embedded Redis, process ${mark.pid}, has not stopped within ${STOP_MS} ms; it is left running`,
      );
    }
    const code = this.child?.exitCode ?? 0;
    if (code !== 0) this.log.warn({ code }, 'the embedded Redis stopped with an error');
    else this.log.info({ redisPid: mark.pid }, 'stopped the embedded Redis');
  }

  private async sendShutdown(): Promise<void> {
    if (this.connection?.status !== 'ready') {
      const answer = await probe(this.path);
      if (answer.kind !== 'redis') return;
      this.connection = answer.connection;
    }
    await this.connection.call('SHUTDOWN', 'NOSAVE');
  }
}

function isAlive(child: ChildProcess): boolean {
  return child.pid !== undefined && child.exitCode === null && child.signalCode === null;
}

function exitOf(child: ChildProcess | null): string {
  return child?.signalCode ?? String(child?.exitCode ?? 'unknown');
}
