import { QueueError } from '../../domain/errors.js';
import type { ImportedJob, ImportResult } from '../../domain/job/job.js';
import { MAX_TRIES } from '../../domain/limits.js';
import { JOB_STATES } from '../../domain/job/states.js';
import type { RedisPool } from '../../redis/pool.js';
import type { Item } from '../../redis/scripts/script.js';
import { importJobs } from '../../redis/scripts/simple.js';
import { checkNames, checkNumber } from '../core/checks.js';
import { JOB_ID_RULE } from '../../domain/ids.js';
import { encodeId } from '../core/ids.js';
import type { ScriptRunner } from '../core/scripts.js';

/** Maximum number of jobs, and of bytes of bodies, in one script call. */
const MAX_ITEMS = 64;
const MAX_BYTES = 262_144;
/** How long imported source names are kept: within this time an interrupted import can be continued. A week. */
const KEEP_MS = 7 * 24 * 3_600_000;
const RESULTS: readonly ImportResult[] = ['stored', 'known', 'taken'];

/** Imports jobs from another store, each once, with their ids, states, tries and times. */
export class Importer {
  constructor(
    private readonly pool: RedisPool,
    private readonly runner: ScriptRunner,
  ) {}

  /** See `PoolEngine.importJobs`. */
  async import(namespace: string, jobs: readonly ImportedJob[]): Promise<ImportResult[]> {
    const results: ImportResult[] = [];
    let items: Item[] = [];
    let bytes = 0;
    const flush = async (): Promise<void> => {
      if (items.length === 0) return;
      const { codes } = await this.runner.run(importJobs, namespace, { keep_ms: KEEP_MS }, items);
      results.push(...codes.map((code) => RESULTS[code] ?? 'taken'));
      [items, bytes] = [[], 0];
    };
    for (const job of jobs) {
      if (items.length === MAX_ITEMS || bytes + job.body.length > MAX_BYTES) await flush();
      items.push(itemOf(namespace, job));
      bytes += job.body.length;
    }
    await flush();
    return results;
  }

  /** See `PoolEngine.forgetImported`. */
  async forget(namespace: string, sources: readonly string[]): Promise<void> {
    if (sources.length === 0) return;
    await this.pool.read('SREM', this.pool.keys.namespace(namespace).imported, ...sources);
  }
}

function itemOf(namespace: string, job: ImportedJob): Item {
  const { id, source, queue, body, state, triesLeft, attempts, ttlLeftMs, atMs, attributes } = job;
  checkNames(namespace, queue);
  const encoded = encodeId(id);
  if (!encoded) throw new QueueError('invalid_argument', `a job id ${JOB_ID_RULE}`);
  checkNumber('triesLeft', triesLeft, state === 'ready' || state === 'scheduled' ? 1 : 0, MAX_TRIES);
  checkNumber('attempts', attempts, state === 'leased' ? 1 : 0, MAX_TRIES);
  checkNumber('ttlLeftMs', ttlLeftMs, 0, Number.MAX_SAFE_INTEGER);
  checkNumber('atMs', atMs, 0, Number.MAX_SAFE_INTEGER);
  const json = attributes ? JSON.stringify(attributes) : '';
  const numbers = [JOB_STATES[state], triesLeft, attempts, Math.min(ttlLeftMs, 2 ** 46), atMs];
  return [`${numbers.join(',')},${queue},${json}`, encoded, source, body];
}
