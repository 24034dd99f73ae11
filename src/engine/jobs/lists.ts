import { createHash } from 'node:crypto';
import type { DeadFilter, JobFilter, ListedData, JobsRequest, ListPage } from '../../domain/job/job-lists.js';
import type { JobSummary } from '../../domain/job/extended-job.js';
import { bytesAt, integerAt } from '../../redis/scripts/script.js';
import { listByIds, listJobs, readData } from '../../redis/scripts/extended.js';
import { checkNames, checkNumber } from '../core/checks.js';
import { encodeId } from '../core/ids.js';
import type { ScriptRunner } from '../core/scripts.js';
import { cursorOf, filterText, type Place, placeOf, type Plan, planOf, planOfDead } from './sources.js';
import { FIELDS_PER_ITEM, listedJobOf } from './summary.js';

const MOST_ITEMS = 1_000;
/** Maximum number of jobs that one step checks and returns: about a millisecond and a half of Redis. */
const STEP = 200;
/** Maximum number of steps per page: a filter that few jobs match must not keep the store busy for one caller. */
const MOST_STEPS = 50;
const MOST_IDS = 100;
/** Data of one list, in bytes. */
const MOST_DATA_BYTES = 4_194_304;
/** Jobs whose data one step reads. */
const DATA_STEP = 50;
const FIELDS_OF_DATA = 4;
/** Codes of lua/commands/queries/read_data.lua. */
const DATA = { missing: 0, shown: 1 } as const;
const NOWHERE = Buffer.alloc(0);
/** Characters of the digest by which a place names a worker: names are too long for a cursor, and not for all to see. */
const DIGEST = 22;

/** A part of a list: the indexes of a queue, of a worker, or of the namespace. */
interface Section {
  readonly place: string;
  readonly name: string;
}

/** A plan, its sections in the order of their places, and whether its indexes are read from their end. */
type Walk = Plan & { readonly isBack: boolean; readonly sections: () => Promise<readonly Section[]> };

/**
 * Lists jobs page by page. Redis is read in bounded steps; a job that moves between two pages may be missed or returned
 * twice.
 */
export class Lists {
  constructor(
    private readonly runner: ScriptRunner,
    /** The queues of a namespace, sorted. */
    private readonly queues: (namespace: string) => Promise<string[]>,
    /** The workers of a namespace that have stalled jobs. */
    private readonly stalledWorkers: (namespace: string) => Promise<string[]>,
  ) {}

  /** @throws {QueueError} `invalid_argument`, or an error of the store */
  list(namespace: string, filter: JobFilter, page: JobsRequest): Promise<ListPage<JobSummary>> {
    return this.walk(namespace, filter, planOf(filter), page);
  }

  /** Lists dead jobs, by time of death, oldest first unless the page says otherwise. @throws as `list` */
  listDead(namespace: string, filter: DeadFilter, page: JobsRequest): Promise<ListPage<JobSummary>> {
    return this.walk(namespace, { ...filter, state: 'dead' }, planOfDead(filter), page);
  }

  /** Lists jobs by their ids, at most 100, in order; without those that do not exist. @throws as `list` */
  async listByIds(namespace: string, ids: readonly string[]): Promise<JobSummary[]> {
    checkNames(namespace);
    checkNumber('ids', ids.length, 1, MOST_IDS);
    const items = ids.map((id) => [encodeId(id) ?? NOWHERE]);
    const { raw, nowMs } = await this.runner.run(listByIds, namespace, {}, items);
    const found: JobSummary[] = [];
    for (let at = 2; at < raw.length; at += FIELDS_PER_ITEM) found.push(listedJobOf(raw, at, nowMs));
    return found;
  }

  /**
   * Reads the data of listed jobs, 4 MiB together.
   *
   * @returns in order: null = left out, as it would be more; undefined = the job is gone, or in another queue now
   */
  async dataOf(
    namespace: string,
    jobs: readonly Pick<JobSummary, 'id' | 'queue'>[],
  ): Promise<(ListedData | null | undefined)[]> {
    const found: (ListedData | null | undefined)[] = [];
    let left = MOST_DATA_BYTES;
    for (let i = 0; i < jobs.length; i += DATA_STEP) {
      const some = jobs.slice(i, i + DATA_STEP);
      const items = some.map(({ id }) => [encodeId(id) ?? NOWHERE]);
      const { raw } = await this.runner.run(readData, namespace, { most_bytes: left }, items);
      for (const [n, { queue }] of some.entries()) {
        const at = 2 + n * FIELDS_OF_DATA;
        const [body, type] = [bytesAt(raw, at + 2), bytesAt(raw, at + 3).toString()];
        const isThere = integerAt(raw, at) !== DATA.missing && bytesAt(raw, at + 1).toString() === queue;
        const isShown = integerAt(raw, at) === DATA.shown;
        left -= body.length;
        found.push(isThere ? (isShown ? { body, contentType: type === '' ? null : type } : null) : undefined);
      }
    }
    return found;
  }

  private async walk(
    namespace: string,
    filter: JobFilter & DeadFilter,
    plan: Plan,
    { limit, cursor, order }: JobsRequest,
  ): Promise<ListPage<JobSummary>> {
    checkNames(namespace, ...(filter.queue === undefined ? [] : [filter.queue]));
    checkNumber('limit', limit, 1, MOST_ITEMS);
    const sections = once(() => this.sectionsOf(namespace, plan));
    const walk: Walk = { ...plan, isBack: order === 'newest', sections };
    const items: JobSummary[] = [];
    let place: Place | null = await begin(walk, cursor);
    for (let steps = 0; place !== null && items.length < limit && steps < MOST_STEPS; steps++) {
      const behind: Place = await this.step(namespace, filter, walk, place, limit - items.length, items);
      place = behind.at === '' ? await next(walk, behind) : behind;
    }
    return { items, cursor: place === null ? null : cursorOf(place, walk.isBack) };
  }

  private async sectionsOf(namespace: string, plan: Plan): Promise<Section[]> {
    if (plan.of === 'namespace') return [{ place: '', name: plan.name }];
    if (plan.of === 'workers') return byDigest(await this.stalledWorkers(namespace));
    const queues = plan.queue === null ? await this.queues(namespace) : [plan.queue];
    return queues.map((name) => ({ place: name, name }));
  }

  /** Reads some jobs. @returns the place after them; `at` '' = the end of the source */
  private async step(
    namespace: string,
    filter: JobFilter & DeadFilter,
    walk: Walk,
    place: Place,
    limit: number,
    items: JobSummary[],
  ): Promise<Place> {
    const source = walk.sources[place.source] ?? { kind: 'd' };
    const { raw, nowMs } = await this.runner.run(listJobs, namespace, {
      kind: source.kind,
      name: await nameOf(walk, place),
      filter: filterText(filter, source),
      at: place.at,
      id: place.id,
      limit: Math.min(limit, STEP),
      scan_limit: STEP,
      order: isReadBack(walk, place.source) ? 'newest' : '',
    });
    for (let at = 4; at < raw.length; at += FIELDS_PER_ITEM) items.push(listedJobOf(raw, at, nowMs));
    return { ...place, at: bytesAt(raw, 2).toString(), id: bytesAt(raw, 3) };
  }
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

function byDigest(workers: readonly string[]): Section[] {
  const sections = workers.map((name) => ({ place: digestOf(name), name }));
  return sections.sort((one, other) => (one.place < other.place ? -1 : 1));
}

function digestOf(name: string): string {
  return createHash('sha256').update(name).digest('base64url').slice(0, DIGEST);
}

/** '' = the worker has no stalled job any more: its list is at its end. */
async function nameOf(walk: Walk, { section }: Place): Promise<string> {
  if (walk.of === 'namespace') return walk.name;
  if (walk.of === 'queues') return section;
  return (await walk.sections()).find(({ place }) => place === section)?.name ?? '';
}

async function begin(walk: Walk, cursor: string | undefined): Promise<Place | null> {
  if (cursor !== undefined) return placeOf(cursor, walk.isBack);
  return firstOf(walk, (await walk.sections()).at(walk.isBack ? -1 : 0));
}

/** The start of the next source: of this section, or of the next one. */
async function next(walk: Walk, { section, source }: Place): Promise<Place | null> {
  const other = source + (walk.isBack ? -1 : 1);
  if (walk.sources[other] !== undefined) return startOf(walk, section, other);
  const sections = await walk.sections();
  return firstOf(
    walk,
    walk.isBack
      ? sections.findLast(({ place }) => place < section)
      : sections.find(({ place }) => place > section),
  );
}

/** The start of the first source of a section. */
function firstOf(walk: Walk, section: Section | undefined): Place | null {
  return section === undefined
    ? null
    : startOf(walk, section.place, walk.isBack ? walk.sources.length - 1 : 0);
}

/** From its end, a source is read from its last score on, which the script knows. */
function startOf(walk: Walk, section: string, source: number): Place {
  const at = isReadBack(walk, source) ? '' : (walk.sources[source]?.from ?? '');
  return { section, source, at, id: NOWHERE };
}

/** True if a source is read from its highest score to its lowest. */
function isReadBack({ sources, isBack }: Walk, source: number): boolean {
  return isBack !== (sources[source]?.isReversed ?? false);
}
