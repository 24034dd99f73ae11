import { createHash } from 'node:crypto';
import type { DeadFilter, JobFilter, ListedData, JobsRequest, ListPage } from '../../domain/job/job-lists.js';
import type { JobSummary } from '../../domain/job/extended-job.js';
import { bytesAt, integerAt } from '../../redis/scripts/script.js';
import { listByIds, listJobs, readData } from '../../redis/scripts/extended.js';
import { checkNames, checkNumber } from '../core/checks.js';
import { encodeId } from '../core/ids.js';
import type { ScriptRunner } from '../core/scripts.js';
import {
  checkPlace,
  cursorOf,
  filterText,
  type Place,
  placeOf,
  type Plan,
  planOf,
  planOfDead,
  type Source,
} from './sources.js';
import { FIELDS_PER_ITEM, listedJobOf } from './summary.js';

const MOST_ITEMS = 1_000;
/** Maximum number of jobs that one step checks and returns: about a millisecond and a half of Redis. */
const STEP = 200;
/** Maximum number of steps per page: a filter that few jobs match must not keep the store busy for one caller. */
const MOST_STEPS = 50;
/** Maximum number of indexes that one step reads: most queues of a namespace have no job in most of theirs. */
const PARTS = 100;
const MOST_IDS = 100;
/** Data of one list, in bytes. */
const MOST_DATA_BYTES = 4_194_304;
/** Jobs whose data one step reads. */
const DATA_STEP = 50;
const FIELDS_OF_DATA = 4;
/** Codes of lua/commands/queries/read_data.lua. */
const DATA = { missing: 0, shown: 1 } as const;
const NOWHERE = Buffer.alloc(0);
const START: Position = { index: 0, at: '', id: NOWHERE };
/** Characters of the digest by which a place names a worker: names are too long for a cursor, and not for all to see. */
const DIGEST = 22;

/** A group of indexes of a list: those of a queue, of a worker, or of the namespace. */
interface Section {
  readonly place: string;
  readonly name: string;
}

/** The indexes of a list, in its order: all sources of the first section, then those of the next one. */
interface Walk {
  readonly sections: readonly Section[];
  readonly sources: readonly Source[];
  /** The list is read from its end. */
  readonly isBack: boolean;
}

/** Where a list goes on: which index of the walk, and where in it; `at` '' = from its beginning on. */
interface Position {
  readonly index: number;
  readonly at: string;
  readonly id: Buffer;
}

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
    const walk = await this.walkOf(namespace, plan, order === 'newest');
    const items: JobSummary[] = [];
    let position = cursor === undefined ? START : positionOf(walk, placeOf(cursor, walk.isBack));
    const isOver = (): boolean => position.index >= walk.sections.length * walk.sources.length;
    for (let steps = 0; !isOver() && items.length < limit && steps < MOST_STEPS; steps++) {
      position = await this.step(namespace, filter, walk, position, limit - items.length, items);
    }
    return { items, cursor: isOver() ? null : cursorOf(placeAt(walk, position), walk.isBack) };
  }

  private async walkOf(namespace: string, plan: Plan, isBack: boolean): Promise<Walk> {
    const sections = await this.sectionsOf(namespace, plan);
    return isBack
      ? { sections: sections.toReversed(), sources: plan.sources.toReversed(), isBack }
      : { sections, sources: plan.sources, isBack };
  }

  private async sectionsOf(namespace: string, plan: Plan): Promise<Section[]> {
    if (plan.of === 'namespace') return [{ place: '', name: plan.name }];
    if (plan.of === 'workers') return byDigest(await this.stalledWorkers(namespace));
    const queues = plan.queue === null ? await this.queues(namespace) : [plan.queue];
    return queues.map((name) => ({ place: name, name }));
  }

  /** Reads some jobs. @returns where to go on */
  private async step(
    namespace: string,
    filter: JobFilter & DeadFilter,
    walk: Walk,
    { index, at: from, id }: Position,
    limit: number,
    items: JobSummary[],
  ): Promise<Position> {
    const { raw, nowMs } = await this.runner.run(listJobs, namespace, {
      parts: partsText(walk, index),
      filter: filterText(filter),
      at: from,
      id,
      limit: Math.min(limit, STEP),
      scan_limit: STEP,
    });
    for (let at = 5; at < raw.length; at += FIELDS_PER_ITEM) items.push(listedJobOf(raw, at, nowMs));
    return { index: index + integerAt(raw, 2), at: bytesAt(raw, 3).toString(), id: bytesAt(raw, 4) };
  }
}

function byDigest(workers: readonly string[]): Section[] {
  const sections = workers.map((name) => ({ place: digestOf(name), name }));
  return sections.sort((one, other) => (one.place < other.place ? -1 : 1));
}

function digestOf(name: string): string {
  return createHash('sha256').update(name).digest('base64url').slice(0, DIGEST);
}

/** Encodes the indexes from one on as lua/commands/queries/list_jobs.lua reads them. */
function partsText({ sections, sources, isBack }: Walk, first: number): string {
  const parts: unknown[] = [];
  for (let i = first; i < Math.min(first + PARTS, sections.length * sources.length); i++) {
    const { kind, isReversed = false, from = null, to = null } = sources[i % sources.length] ?? { kind: 'd' };
    parts.push([kind, sections[Math.floor(i / sources.length)]?.name ?? '', isBack !== isReversed, from, to]);
  }
  return JSON.stringify(parts);
}

/** If the section of a place is gone, the list goes on with the one behind it. */
function positionOf({ sections, sources, isBack }: Walk, { section, source, at, id }: Place): Position {
  const found = sections.findIndex(({ place }) => (isBack ? place <= section : place >= section));
  if (found === -1) return { ...START, index: sections.length * sources.length };
  if (sections[found]?.place !== section) return { ...START, index: found * sources.length };
  checkPlace(sources[source], { at, id });
  return { index: found * sources.length + source, at, id };
}

function placeAt({ sections, sources }: Walk, { index, at, id }: Position): Place {
  const section = sections[Math.floor(index / sources.length)]?.place ?? '';
  return { section, source: index % sources.length, at, id };
}
