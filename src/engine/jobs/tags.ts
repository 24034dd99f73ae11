import { jobNotFound } from '../../domain/errors.js';
import { ArgumentError } from '../../contract/fields/problems.js';
import type { FailureGroup, ListPage, NamedCount, PageRequest, Trace } from '../../domain/job/job-lists.js';
import { MAX_TAGS } from '../../domain/limits.js';
import { storeFull } from '../../redis/errors.js';
import type { RedisPool } from '../../redis/pool.js';
import { bytesAt, integerAt } from '../../redis/scripts/script.js';
import { tagJobs, listEndedTracked } from '../../redis/scripts/extended.js';
import { checkNames } from '../core/checks.js';
import { decodeId, encodeId } from '../core/ids.js';
import type { ScriptRunner } from '../core/scripts.js';
import { rankedPage } from '../core/ranked.js';
import type { NamespaceQuotas } from '../core/quotas.js';
import { describeGroups } from './failure-groups.js';

/** Codes of lua/commands/extended/tag_jobs.lua. */
const CODE = { missing: 0, done: 1, tooMany: 2, storeFull: 3, quota: 4 } as const;
const MOST_TRACES = 1_000;
const NO_ID = Buffer.alloc(0);

type Verb = 'tag' | 'untag' | 'track' | 'untrack' | 'read';

/** Tags, failure groups and tracked jobs. */
export class Tags {
  constructor(
    private readonly pool: RedisPool,
    private readonly runner: ScriptRunner,
    private readonly quotas: NamespaceQuotas,
  ) {}

  /**
   * Adds tags; a tag that the job already has keeps its position. @returns all tags of the job. @throws {QueueError}
   * `job_not_found`, `invalid_argument`, `namespace_full`
   */
  addTags(namespace: string, id: string, tags: readonly string[]): Promise<string[]> {
    return this.change(namespace, 'tag', id, tags);
  }

  /** Removes tags; unknown ones are ignored. @returns the remaining tags. @throws {QueueError} `job_not_found` */
  removeTags(namespace: string, id: string, tags: readonly string[]): Promise<string[]> {
    return this.change(namespace, 'untag', id, tags);
  }

  /** The tags of a job. @throws {QueueError} `job_not_found` */
  tagsOf(namespace: string, id: string): Promise<string[]> {
    return this.change(namespace, 'read', id, []);
  }

  /**
   * Marks the events of a job with `tracked` from now on; after the job is deleted, a trace of it is kept for a day.
   * @throws {QueueError} `job_not_found`
   */
  async track(namespace: string, id: string): Promise<void> {
    await this.change(namespace, 'track', id, []);
  }

  /** @returns false if there is no such job; its trace is removed all the same */
  async untrack(namespace: string, id: string): Promise<boolean> {
    const { code } = await this.send(namespace, 'untrack', id, []);
    return code !== CODE.missing;
  }

  /** The last 1,000 tracked jobs that were deleted, the earliest deleted first. */
  async traces(namespace: string): Promise<Trace[]> {
    checkNames(namespace);
    const { raw } = await this.runner.run(listEndedTracked, namespace, { limit: MOST_TRACES });
    const gone: Trace[] = [];
    for (let i = 2; i + 1 < raw.length; i += 2) {
      gone.push({ id: decodeId(bytesAt(raw, i)), goneAtMs: Number(bytesAt(raw, i + 1).toString()) });
    }
    return gone;
  }

  /** Tags with their number of jobs, most frequent first. */
  async tags(namespace: string, page: PageRequest): Promise<ListPage<NamedCount>> {
    const { items, cursor } = await rankedPage(this.pool, namespace, 'tags', page);
    return { items: items.map(([name, jobs]) => ({ name, jobs })), cursor };
  }

  /** Failure groups of dead jobs, those first that most jobs have. */
  async groups(namespace: string, page: PageRequest): Promise<ListPage<FailureGroup>> {
    const { items, cursor } = await rankedPage(this.pool, namespace, 'groups', page);
    const names = items.map(([name]) => name);
    return { items: await describeGroups(this.runner, namespace, names), cursor };
  }

  private async change(
    namespace: string,
    verb: Verb,
    id: string,
    tags: readonly string[],
  ): Promise<string[]> {
    const { code, json } = await this.send(namespace, verb, id, tags);
    if (code === CODE.missing) throw jobNotFound(id);
    if (code === CODE.storeFull) throw storeFull(this.pool.name);
    if (code === CODE.quota) throw this.quotas.bytesError(namespace, Number(json));
    if (code === CODE.tooMany) throw new ArgumentError('tags', `are at most ${String(MAX_TAGS)} of one job`);
    return json === '' ? [] : (JSON.parse(json) as string[]);
  }

  private async send(
    namespace: string,
    verb: Verb,
    id: string,
    tags: readonly string[],
  ): Promise<{ readonly code: number; readonly json: string }> {
    checkNames(namespace);
    const item = [verb, encodeId(id) ?? NO_ID, JSON.stringify([...new Set(tags)])];
    const args = { most_tags: MAX_TAGS, most_bytes: this.quotas.of(namespace).bytes };
    const { raw } = await this.runner.run(tagJobs, namespace, args, [item]);
    return { code: integerAt(raw, 2), json: bytesAt(raw, 3).toString() };
  }
}
