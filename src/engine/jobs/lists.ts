import type { DeadFilter, JobFilter, ListPage, PageRequest } from '../../domain/job-lists.js';
import type { JobSummary } from '../../domain/extended-job.js';
import { bytesAt } from '../../redis/scripts/script.js';
import { listJobs } from '../../redis/scripts/lists.js';
import { checkNames, checkNumber } from '../core/checks.js';
import type { ScriptRunner } from '../core/scripts.js';
import { cursorOf, filterText, type Place, placeOf, type Plan, planOf, planOfDead } from './sources.js';
import { FIELDS_PER_ITEM, listedJobOf } from './summary.js';

const MOST_ITEMS = 1_000;
/** Maximum number of jobs that one step checks and returns: about a millisecond and a half of Redis. */
const STEP = 200;
/** Maximum number of steps per page: a filter that few jobs match must not keep the store busy for one caller. */
const MOST_STEPS = 50;
const NOWHERE = Buffer.alloc(0);

/**
 * Lists jobs page by page. Redis is read in bounded steps; a job that moves between two pages may be missed or returned
 * twice.
 */
export class Lists {
  constructor(
    private readonly runner: ScriptRunner,
    /** The queues of a namespace, sorted. */
    private readonly queues: (namespace: string) => Promise<string[]>,
  ) {}

  /** @throws {QueueError} `invalid_argument`, or an error of the store */
  list(namespace: string, filter: JobFilter, page: PageRequest): Promise<ListPage<JobSummary>> {
    return this.walk(namespace, filter, planOf(filter), page);
  }

  /** Lists dead jobs, by time of death, oldest first. @throws as `list` */
  listDead(namespace: string, filter: DeadFilter, page: PageRequest): Promise<ListPage<JobSummary>> {
    return this.walk(namespace, { ...filter, state: 'dead' }, planOfDead(filter), page);
  }

  private async walk(
    namespace: string,
    filter: JobFilter & DeadFilter,
    plan: Plan,
    { limit, cursor }: PageRequest,
  ): Promise<ListPage<JobSummary>> {
    checkNames(namespace, ...(filter.queue === undefined ? [] : [filter.queue]));
    checkNumber('limit', limit, 1, MOST_ITEMS);
    const items: JobSummary[] = [];
    let place: Place | null = await this.begin(namespace, plan, cursor);
    for (let steps = 0; place !== null && items.length < limit && steps < MOST_STEPS; steps++) {
      const behind = await this.step(namespace, filter, plan, place, limit - items.length, items);
      place = behind.at === '' ? await this.next(namespace, plan, behind) : behind;
    }
    return { items, cursor: place === null ? null : cursorOf(place) };
  }

  private async begin(namespace: string, plan: Plan, cursor: string | undefined): Promise<Place | null> {
    if (cursor !== undefined) return placeOf(cursor);
    const [queue = null] = plan.name === null ? await this.queuesOf(namespace, plan.queue) : [''];
    return queue === null ? null : { queue, source: 0, at: plan.sources[0]?.from ?? '', id: NOWHERE };
  }

  private queuesOf(namespace: string, queue: string | null): Promise<string[]> {
    return queue === null ? this.queues(namespace) : Promise.resolve([queue]);
  }

  /** Reads some jobs. @returns the place after them; `at` '' = the end of the source */
  private async step(
    namespace: string,
    filter: JobFilter & DeadFilter,
    plan: Plan,
    place: Place,
    limit: number,
    items: JobSummary[],
  ): Promise<Place> {
    const source = plan.sources[place.source] ?? { kind: 'd' };
    const { raw, nowMs } = await this.runner.run(listJobs, namespace, {
      kind: source.kind,
      name: plan.name ?? place.queue,
      filter: filterText(filter, source),
      at: place.at,
      id: place.id,
      limit: Math.min(limit, STEP),
      scan_limit: STEP,
    });
    for (let at = 4; at < raw.length; at += FIELDS_PER_ITEM) items.push(listedJobOf(raw, at, nowMs));
    return { ...place, at: bytesAt(raw, 2).toString(), id: bytesAt(raw, 3) };
  }

  /** The start of the next source: of this queue, or of the next one. */
  private async next(namespace: string, plan: Plan, { queue, source }: Place): Promise<Place | null> {
    const next = plan.sources[source + 1];
    if (next) return { queue, source: source + 1, at: next.from ?? '', id: NOWHERE };
    if (plan.name !== null || plan.queue !== null) return null;
    const other = (await this.queues(namespace)).find((name) => name > queue);
    return other === undefined
      ? null
      : { queue: other, source: 0, at: plan.sources[0]?.from ?? '', id: NOWHERE };
  }
}
