import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DEFAULT_POOL } from '../../auth/credentials.js';
import { TokenStore } from '../../auth/token-store.js';
import type { Config } from '../../config/config.js';
import { loadConfig } from '../../config/load.js';
import { poolOptions, tokenOptions } from '../../config/pool-options.js';
import type { Log } from '../../domain/log.js';
import { QueueEngine } from '../../engine/engine.js';
import { socketPathOf } from '../../redis/embedded/socket.js';
import { RedisPool } from '../../redis/pool.js';
import { COUNTED, type Tally } from './counts.js';
import { ImportLock } from './lock.js';
import { LmstfySource } from './source.js';
import { importTokens } from './tokens.js';
import { Transfer } from './transfer.js';

/** Options of the command line. */
export interface ImportOptions {
  /** URL of lmstfy's Redis, and of the Redis with its tokens if they are elsewhere. */
  readonly from: string;
  readonly tokensFrom?: string | undefined;
  /** Name of the pool on the lmstfy server, and on this one. */
  readonly fromPool: string;
  readonly pool: string;
  /** Our configuration file, and a Redis URL that replaces the pool's own. */
  readonly config?: string | undefined;
  readonly to?: string | undefined;
  readonly namespaces?: readonly string[] | undefined;
  readonly isDrain: boolean;
  readonly isFollow: boolean;
  readonly isStopped: boolean;
  readonly isDryRun: boolean;
  readonly isJson: boolean;
}

/** Output, and the signal that ends a run with `--follow`. */
export interface ImportSession {
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
  readonly signal: AbortSignal;
}

/** Pauses between two rounds of `--follow`, in milliseconds: after a round without jobs, and after a failure. */
const IDLE_MS = 250;
const AFTER_FAILURE_MS = 1_000;
/** Every n-th round also looks for new tokens, and for queues that are missing in the server's lists. */
const CHECK_EVERY = 40;

/**
 * Imports a lmstfy server's tokens, limits and jobs.
 *
 * @throws {Error} with a line for the user; finished steps stay done, and the same command continues from there
 */
export async function importLmstfy(options: ImportOptions, session: ImportSession): Promise<void> {
  const run = await Run.open(options, session);
  try {
    await run.go();
    run.report();
  } finally {
    await run.close();
  }
}

class Run {
  private readonly transfer: Transfer;
  private readonly namespaces: ReadonlySet<string> | null;

  private constructor(
    private readonly options: ImportOptions,
    private readonly session: ImportSession,
    private readonly source: LmstfySource,
    private readonly tokensSource: LmstfySource,
    private readonly pool: RedisPool,
    private readonly tokenPool: RedisPool,
  ) {
    this.namespaces = options.namespaces ? new Set(options.namespaces) : null;
    const plan = { namespaces: this.namespaces, isStopped: options.isStopped };
    this.transfer = new Transfer(source, new QueueEngine(pool), plan);
  }

  static async open(options: ImportOptions, session: ImportSession): Promise<Run> {
    const closers: (() => unknown)[] = [];
    try {
      const source = await openSource(options.from, '--from');
      closers.push(() => source.close());
      const other = options.tokensFrom;
      const tokensSource = other === undefined ? source : await openSource(other, '--tokens-from');
      closers.push(() => tokensSource.close());
      const config = configOf(options);
      const log = logTo(session);
      const pool = await RedisPool.connect(options.pool, targetOf(options.pool, config), log);
      closers.push(() => pool.close());
      const tokens = await openTokens(options.pool, pool, config, log);
      return new Run(options, session, source, tokensSource, pool, tokens);
    } catch (error) {
      for (const close of closers) await close();
      throw error;
    }
  }

  async go(): Promise<void> {
    const { isDryRun, isDrain, isFollow } = this.options;
    await this.bringTokens();
    if (isDryRun) await this.transfer.scan();
    else if (!isDrain) await this.transfer.copy();
    else {
      const lock = await ImportLock.take(this.source);
      try {
        await this.transfer.drain(lock, true);
        if (isFollow) await this.follow(lock);
      } finally {
        await lock.release().catch(() => undefined);
      }
    }
  }

  report(): void {
    const { isJson, isDryRun } = this.options;
    this.session.out(isJson ? asJson(this.transfer.tally) : asTable(this.transfer.tally, isDryRun));
  }

  async close(): Promise<void> {
    this.source.close();
    this.tokensSource.close();
    await Promise.all([this.pool.close(), this.tokenPool.close()]);
  }

  /** Runs rounds until the signal aborts. A failed round is repeated: every step is safe to repeat. */
  private async follow(first: ImportLock): Promise<void> {
    const { signal, err } = this.session;
    let lock = first;
    for (let round = 1; !signal.aborted; round++) {
      const before = this.transfer.tally.stored;
      let pauseMs = 0;
      try {
        const isCheck = round % CHECK_EVERY === 0;
        if (isCheck) await this.bringTokens();
        await this.transfer.drain(lock, isCheck);
        if (this.transfer.tally.stored === before) pauseMs = IDLE_MS;
      } catch (error) {
        err(`pumphouse: ${messageOf(error)}; trying again\n`);
        pauseMs = AFTER_FAILURE_MS;
        await lock.release().catch(() => undefined);
        lock = await this.lockAgain(lock);
      }
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    }
    if (lock !== first) await lock.release().catch(() => undefined);
  }

  private async lockAgain(old: ImportLock): Promise<ImportLock> {
    const { signal, err } = this.session;
    while (!signal.aborted) {
      try {
        return await ImportLock.take(this.source);
      } catch (error) {
        err(`pumphouse: ${messageOf(error)}; trying again\n`);
        await sleep(AFTER_FAILURE_MS, undefined, { signal }).catch(() => undefined);
      }
    }
    return old;
  }

  private async bringTokens(): Promise<void> {
    const { fromPool, pool, isDryRun } = this.options;
    const plan = { fromPool, pool, isDryRun, namespaces: this.namespaces };
    await importTokens(this.tokensSource, new TokenStore(this.tokenPool), plan, this.transfer.tally);
  }
}

async function openSource(url: string, option: string): Promise<LmstfySource> {
  return LmstfySource.open(url).catch((error: unknown) => {
    throw new Error(`the Redis of ${option} cannot be used: ${messageOf(error)}`, { cause: error });
  });
}

function configOf({ config: file, pool, to }: ImportOptions): Config {
  const overrides = to === undefined ? {} : { overrides: { pools: { [pool]: { url: to } } } };
  return loadConfig({ ...(file === undefined ? {} : { file }), ...overrides });
}

/** An embedded Redis runs only while its server runs: it is reached at its socket. */
function targetOf(name: string, config: Config): ReturnType<typeof poolOptions> {
  const pool = config.pools[name];
  if (!pool)
    throw new Error(`--pool: there is no pool ${name}; known here: ${Object.keys(config.pools).join(', ')}`);
  return poolOptions(
    name,
    config,
    pool.url === 'embedded' ? socketPathOf(join(config.data.dir, name)) : undefined,
  );
}

async function openTokens(name: string, pool: RedisPool, config: Config, log: Log): Promise<RedisPool> {
  const own = tokenOptions(config);
  if (own) return RedisPool.connect('tokens', own, log);
  return name === DEFAULT_POOL ? pool : RedisPool.connect(DEFAULT_POOL, targetOf(DEFAULT_POOL, config), log);
}

/** Shows only warnings and errors to the user. */
function logTo({ err }: ImportSession): Log {
  const report = (_details: object, message: string): void => err(`pumphouse: ${message}\n`);
  return { debug: () => undefined, info: () => undefined, warn: report, error: report };
}

function asJson(tally: Tally): string {
  return `${JSON.stringify({ namespaces: Object.fromEntries(tally.entries()) })}\n`;
}

function asTable(tally: Tally, isDryRun: boolean): string {
  const rows = tally
    .entries()
    .map(([name, counts]) => [name, ...COUNTED.map((what) => String(counts[what]))]);
  const all = [['namespace', ...COUNTED], ...rows];
  const width = (column: number): number => Math.max(...all.map((row) => row[column]?.length ?? 0));
  const text = all
    .map((row) =>
      row.map((cell, i) => (i === 0 ? cell.padEnd(width(i)) : cell.padStart(width(i)))).join('  '),
    )
    .join('\n');
  return `${text}\n${isDryRun ? 'A dry run: nothing was changed.\n' : ''}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
