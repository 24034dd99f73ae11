import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { DEFAULT_POOL } from '#src/auth/credentials';
import { TokenStore } from '#src/auth/token-store';
import type { Config } from '#src/config/config';
import { loadConfig } from '#src/config/load';
import { poolOptions, tokenOptions } from '#src/config/pool-options';
import type { Log } from '#src/domain/log';
import type { PoolOptions } from '#src/domain/pool';
import { PoolEngine } from '#src/engine/pool-engine';
import { socketPathOf } from '#src/redis/embedded/socket';
import { RedisPool } from '#src/redis/pool';
import type { Output } from '../print.js';
import { reportLines, withReports } from '../progress.js';
import { COUNTED, Tally } from './counts.js';
import { ImportLock } from './lock.js';
import { placeOf, placeOfPool, refuseSame, STAY_THERE, textOf, textOfUrl } from './places.js';
import { LmstfySource } from './source.js';
import { Survey } from './survey.js';
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
  /** It starts without a question. */
  readonly isConfirmed: boolean;
  /** Source and target may be the same Redis. */
  readonly isSameRedis: boolean;
}

/** Output, and the signal that ends the run. */
export interface ImportSession extends Output {
  readonly signal: AbortSignal;
}

/** Pauses between two rounds of `--follow`, in milliseconds: after a round without jobs, and after a failure. */
const IDLE_MS = 250;
const AFTER_FAILURE_MS = 1_000;
/** What is to be done for tokens that would go into lmstfy's Redis. */
const NAME_TOKENS = 'Set tokens.url (PUMPHOUSE_TOKENS__URL)';
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

/** Where the jobs and the tokens go. */
interface Target {
  readonly pool: RedisPool;
  readonly tokens: RedisPool;
}

class Run {
  private readonly tally = new Tally();
  private readonly broughtTokens = new Set<string>();
  private readonly namespaces: ReadonlySet<string> | null;

  private constructor(
    private readonly options: ImportOptions,
    private readonly session: ImportSession,
    private readonly source: LmstfySource,
    private readonly tokensSource: LmstfySource,
    /** Null in a dry run: it needs no server of ours. */
    private readonly target: Target | null,
  ) {
    this.namespaces = options.namespaces ? new Set(options.namespaces) : null;
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
      const aims = aimsOf(options, config);
      session.err(placesText(options, aims));
      if (options.isDryRun) return new Run(options, session, source, tokensSource, null);
      await refuseSameRedis(aims, options, { source, tokensSource });
      if (!options.isSameRedis) refuseTokensOfFile(aims, config);
      await requireYes(options, session);
      const log = logTo(session);
      const pool = await RedisPool.connect(options.pool, aims.jobs, log);
      closers.push(() => pool.close());
      const tokens = aims.tokens === aims.jobs ? pool : await RedisPool.connect('tokens', aims.tokens, log);
      return new Run(options, session, source, tokensSource, { pool, tokens });
    } catch (error) {
      for (const close of closers) await close();
      throw error;
    }
  }

  async go(): Promise<void> {
    const { isDrain, isFollow, isStopped } = this.options;
    // guard: import-brings-tokens
    await this.bringTokens();
    const survey = new Survey(this.source, this.namespaces);
    if (this.target === null) {
      await survey.count(this.tally);
      return;
    }
    const plan = { namespaces: this.namespaces, isStopped, signal: this.session.signal };
    const transfer = new Transfer(this.source, new PoolEngine(this.target.pool), plan, this.tally);
    if (!isDrain) {
      await this.reporting(survey, () => transfer.copy());
      return;
    }
    const lock = await ImportLock.take(this.source);
    try {
      await this.reporting(survey, () => transfer.drainAll(lock)).catch((error: unknown) => {
        // Its usual end.
        if (!isFollow || !this.session.signal.aborted) throw error;
      });
      if (isFollow) await this.follow(transfer, lock);
    } finally {
      await lock.release().catch(() => undefined);
    }
  }

  report(): void {
    const { isJson, isDryRun } = this.options;
    this.session.out(isJson ? asJson(this.tally) : asTable(this.tally, isDryRun));
  }

  async close(): Promise<void> {
    this.source.close();
    this.tokensSource.close();
    await Promise.all([this.target?.pool.close(), this.target?.tokens.close()]);
  }

  /** Shows how many of the jobs are done: by a bar on a terminal, else by lines. */
  private async reporting(survey: Survey, work: () => Promise<void>): Promise<void> {
    const all = new Tally();
    await survey.count(all);
    await withReports(this.session, all.handled, async (progress) => {
      this.tally.onHandled = progress;
      await work();
    });
  }

  /** Runs rounds until the signal aborts. A failed round is repeated: every step is safe to repeat. */
  private async follow(transfer: Transfer, first: ImportLock): Promise<void> {
    const { signal, err } = this.session;
    const stop = reportLines(this.session, () => `${String(this.tally.stored)} jobs imported`);
    let lock = first;
    for (let round = 1; !signal.aborted; round++) {
      const before = this.tally.stored;
      let pauseMs = 0;
      try {
        const isCheck = round % CHECK_EVERY === 0;
        if (isCheck) await this.bringTokens();
        await transfer.drain(lock, isCheck);
        if (this.tally.stored === before) pauseMs = IDLE_MS;
      } catch (error) {
        if (this.session.signal.aborted) break;
        err(`pumphouse: ${messageOf(error)}; trying again\n`);
        pauseMs = AFTER_FAILURE_MS;
        await lock.release().catch(() => undefined);
        lock = await this.lockAgain(lock);
      }
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
    }
    stop();
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
    const { fromPool, pool } = this.options;
    const store = this.target && new TokenStore(this.target.tokens);
    const plan = { fromPool, pool, namespaces: this.namespaces };
    await importTokens(this.tokensSource, store, plan, this.tally, this.broughtTokens);
  }
}

async function openSource(url: string, option: string): Promise<LmstfySource> {
  return LmstfySource.open(url).catch((error: unknown) => {
    throw new Error(`the Redis of ${option} cannot be used: ${messageOf(error)}`, { cause: error });
  });
}

/** A URL of the command line replaces the address of the pool as a whole, with its credentials. */
function configOf({ config: file, pool, to }: ImportOptions): Config {
  const place = { url: to, username: undefined, password: undefined, db: undefined };
  const overrides = to === undefined ? {} : { overrides: { pools: { [pool]: place } } };
  return loadConfig({ ...(file === undefined ? {} : { file }), ...overrides });
}

/** The Redis of the jobs and that of the tokens, which may be the same object. */
interface Aims {
  readonly jobs: PoolOptions;
  readonly tokens: PoolOptions;
}

function aimsOf({ pool }: ImportOptions, config: Config): Aims {
  const jobs = targetOf(pool, config);
  return {
    jobs,
    tokens: tokenOptions(config) ?? (pool === DEFAULT_POOL ? jobs : targetOf(DEFAULT_POOL, config)),
  };
}

/** An embedded Redis runs only while its server runs: it is reached at its socket. */
function targetOf(name: string, config: Config): PoolOptions {
  const pool = config.pools[name];
  if (!pool)
    throw new Error(`--pool: there is no pool ${name}; known here: ${Object.keys(config.pools).join(', ')}`);
  return poolOptions(
    name,
    config,
    pool.url === 'embedded' ? socketPathOf(join(config.data.dir, name)) : undefined,
  );
}

function placesText({ from, tokensFrom = from, pool }: ImportOptions, { jobs, tokens }: Aims): string {
  return [
    `jobs:   from ${textOfUrl(from)} to pool ${pool}, ${textOf(jobs)}\n`,
    `tokens: from ${textOfUrl(tokensFrom)} to ${textOf(tokens)}\n`,
  ].join('');
}

/** @throws {Error} jobs or tokens would go into a Redis that they come from; or the target does not answer */
async function refuseSameRedis(
  { jobs, tokens }: Aims,
  { pool, isSameRedis, from, tokensFrom = from }: ImportOptions,
  { source, tokensSource }: { readonly source: LmstfySource; readonly tokensSource: LmstfySource },
): Promise<void> {
  const target = await placeOfPool(jobs);
  const tokensTarget = tokens === jobs ? target : await placeOfPool(tokens);
  if (isSameRedis) return;
  const sources = [
    await placeOf(`the Redis of --from, ${textOfUrl(from)}`, source.redis),
    await placeOf(`the Redis of --tokens-from, ${textOfUrl(tokensFrom)}`, tokensSource.redis),
  ];
  const setting = `Set pools.${pool}.url (PUMPHOUSE_POOLS__${pool.toUpperCase()}__URL) or give --to`;
  refuseSame('jobs', target, sources, setting);
  // A file of lmstfy names its AdminRedis, which is usually the Redis of the jobs.
  refuseSame('tokens', tokensTarget, sources, NAME_TOKENS);
}

/**
 * A file of lmstfy names the Redis of its tokens. Its run id says so only if the import reads that Redis: without
 * `--tokens-from` it may read another one.
 *
 * @throws {Error} the tokens would go there
 */
function refuseTokensOfFile({ jobs, tokens }: Aims, { areTokensAtLmstfy }: Config): void {
  if (tokens === jobs || /* guard: import-refuses-redis-of-file */ !areTokensAtLmstfy) return;
  throw new Error(
    `tokens would go into lmstfy's own Redis: the file of lmstfy names ${textOf(tokens)}. ${NAME_TOKENS}. ${STAY_THERE}`,
  );
}

/** @throws {Error} not confirmed: nothing was written */
async function requireYes({ isConfirmed }: ImportOptions, { confirm }: ImportSession): Promise<void> {
  if (isConfirmed) return;
  if (/* guard: import-needs-a-yes */ confirm === undefined)
    throw new Error('nothing was imported: without a terminal it starts only with --yes');
  if (!(await confirm('Import? [y/N] '))) throw new Error('nothing was imported');
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
