import { jobNotFound, QueueError } from '../../domain/errors.js';
import type { ListPage, NamedCount, PageRequest, Trace } from '../../domain/job-lists.js';
import { MAX_TAGS } from '../../domain/limits.js';
import type { RedisPool } from '../../redis/pool.js';
import { bytesAt, integerAt } from '../../redis/scripts/script.js';
import { fullMark, fullTraces } from '../../redis/scripts/lists.js';
import { checkNames } from '../checks.js';
import { decodeId, encodeId } from '../ids.js';
import type { ScriptRunner } from '../script-runner.js';
import { rankedPage } from './ranked.js';

/** Codes of lua/scripts/full_mark.lua. */
const MARK = { missing: 0, done: 1, tooMany: 2 } as const;
const MOST_TRACES = 1_000;
const NO_ID = Buffer.alloc(0);

type Verb = 'tag' | 'untag' | 'track' | 'untrack' | 'look';

/** Tags, failure groups and tracked jobs. */
export class Marks {
  constructor(
    private readonly pool: RedisPool,
    private readonly runner: ScriptRunner,
  ) {}

  /** Adds tags; one that it has already stays where it is. @returns all of the job's. @throws {QueueError} `job_not_found`, `invalid_argument` */
  addTags(namespace: string, id: string, tags: readonly string[]): Promise<string[]> {
    return this.mark(namespace, 'tag', id, tags);
  }

  /** Takes tags away; one that it has not is none. @returns those that are left. @throws {QueueError} `job_not_found` */
  removeTags(namespace: string, id: string, tags: readonly string[]): Promise<string[]> {
    return this.mark(namespace, 'untag', id, tags);
  }

  /** A job's tags. @throws {QueueError} `job_not_found` */
  tagsOf(namespace: string, id: string): Promise<string[]> {
    return this.mark(namespace, 'look', id, []);
  }

  /** Each step of the job is told with `tracked` from now on, and it is remembered for a day when it is gone. @throws {QueueError} `job_not_found` */
  async track(namespace: string, id: string): Promise<void> {
    await this.mark(namespace, 'track', id, []);
  }

  /** @returns false if there is no such job: then it is tracked no more either */
  async untrack(namespace: string, id: string): Promise<boolean> {
    const { code } = await this.say(namespace, 'untrack', id, []);
    return code !== MARK.missing;
  }

  /** Tracked jobs that are gone, those first that went first. */
  async traces(namespace: string): Promise<Trace[]> {
    checkNames(namespace);
    const { raw } = await this.runner.run(fullTraces, namespace, { limit: MOST_TRACES });
    const gone: Trace[] = [];
    for (let i = 2; i + 1 < raw.length; i += 2) {
      gone.push({ id: decodeId(bytesAt(raw, i)), goneAtMs: Number(bytesAt(raw, i + 1).toString()) });
    }
    return gone;
  }

  /** The tags that jobs have, with the number of jobs; those first that most have. */
  tags(namespace: string, page: PageRequest): Promise<ListPage<NamedCount>> {
    return this.counts(namespace, 'tags', page);
  }

  /** The failure groups of dead jobs, likewise. */
  groups(namespace: string, page: PageRequest): Promise<ListPage<NamedCount>> {
    return this.counts(namespace, 'groups', page);
  }

  private async counts(
    namespace: string,
    of: 'tags' | 'groups',
    page: PageRequest,
  ): Promise<ListPage<NamedCount>> {
    const { items, cursor } = await rankedPage(this.pool, namespace, of, page);
    return { items: items.map(([name, jobs]) => ({ name, jobs })), cursor };
  }

  private async mark(namespace: string, verb: Verb, id: string, tags: readonly string[]): Promise<string[]> {
    const { code, json } = await this.say(namespace, verb, id, tags);
    if (code === MARK.missing) throw jobNotFound(id);
    if (code === MARK.tooMany)
      throw new QueueError('invalid_argument', `tags are at most ${String(MAX_TAGS)} of one job`);
    return json === '' ? [] : (JSON.parse(json) as string[]);
  }

  private async say(
    namespace: string,
    verb: Verb,
    id: string,
    tags: readonly string[],
  ): Promise<{ readonly code: number; readonly json: string }> {
    checkNames(namespace);
    const item = [verb, encodeId(id) ?? NO_ID, JSON.stringify([...new Set(tags)])];
    const { raw } = await this.runner.run(fullMark, namespace, { most_tags: MAX_TAGS }, [item]);
    return { code: integerAt(raw, 2), json: bytesAt(raw, 3).toString() };
  }
}
