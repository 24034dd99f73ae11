import { Injectable } from '@nestjs/common';
import { Config } from '../../config/config.js';
import { QueueError } from '../../domain/errors.js';
import { Engines } from '../../engine/engines.js';
import type { Counted } from '../../engine/history/counts.js';
import { pageFacts, fromCursor } from '../../http/request/page-query.js';
import { PoolRegistry } from '../../redis/redis.module.js';
import type { Condition, OverviewQuery, Sort } from './dto.js';
import { PoolView } from './pool-view.js';
import type { ShownActivity } from './queue-activities.js';
import type { Row } from './rows.js';

/** True for a namespace that the account may see. */
export type Allows = (namespace: string) => boolean;

/** A place in the sorted list: what a queue is sorted by, and its names. */
type Place = readonly [value: number, pool: string, namespace: string, queue: string];

/** The jobs of a row: as they were read last, or else sampled. */
const STATES = ['ready', 'leased', 'scheduled', 'dead', 'blocked', 'stuck', 'held'] as const;
/** Tenths of thousandths. */
const ROUNDING = 10_000;

/** All queues of all pools, from their last samples. */
@Injectable()
export class OverviewService {
  private readonly views: ReadonlyMap<string, PoolView>;

  constructor(
    engines: Engines,
    private readonly config: Config,
    pools: PoolRegistry,
  ) {
    const { enabled } = config.history;
    const views = engines.entries().flatMap(([name, engine]): [string, PoolView][] => {
      const pool = pools.all().find((one) => one.name === name);
      return pool ? [[name, new PoolView(pool, engine, enabled)]] : [];
    });
    this.views = new Map(views.sort(([one], [other]) => (one < other ? -1 : 1)));
  }

  /** @throws {QueueError} `pool_not_found`; `invalid_argument`: the cursor is none of this list */
  async read(query: OverviewQuery, allows: Allows) {
    const views = this.viewsOf(query.pool);
    await Promise.all(views.map((view) => view.refresh()));
    const visible = views.flatMap((view) => [...view.rows.values()].filter((row) => allows(row.namespace)));
    const matched = visible.filter((row) => this.matches(row, query));
    const { rows, last } = pageOf(matched, query, (row) => this.placeOf(row, query.sort));
    const items = await this.shown(rows);
    return {
      nowAtMs: Date.now(),
      pools: views.map((view) => this.poolFacts(view, visible)),
      totals: this.totals(visible),
      matched: matched.length,
      ...pageFacts(items, last),
    };
  }

  private viewsOf(pool: string | undefined): PoolView[] {
    if (pool === undefined) return [...this.views.values()];
    const view = this.views.get(pool);
    if (!view) throw new QueueError('pool_not_found', 'pool not found');
    return [view];
  }

  private viewOf({ pool }: Row): PoolView {
    const view = this.views.get(pool);
    if (!view) throw new QueueError('pool_not_found', 'pool not found');
    return view;
  }

  private matches(row: Row, { namespace, match, only }: OverviewQuery): boolean {
    if (namespace !== undefined && row.namespace !== namespace) return false;
    const name = `${row.namespace}/${row.queue}`.toLowerCase();
    if (match !== undefined && !name.includes(match.toLowerCase())) return false;
    return only.every((condition) => this.meets(row, condition));
  }

  private meets(row: Row, condition: Condition): boolean {
    const now = newest(row);
    if (condition === 'paused') return now.pausedAtMs !== null;
    if (condition === 'failing') return (row.rates?.failed ?? 0) > 0;
    if (condition === 'unworked') return now.ready > 0 && (row.rates?.leased ?? 0) === 0;
    return now[condition] > 0;
  }

  private placeOf(row: Row, sort: Sort): Place {
    return [this.valueOf(row, sort), row.pool, row.namespace, row.queue];
  }

  private valueOf(row: Row, sort: Sort): number {
    if (sort === 'name') return 0;
    if (sort === 'published' || sort === 'acked' || sort === 'failed') return row.rates?.[sort] ?? 0;
    const now = newest(row);
    // Not the age: it grows between two pages. Queues without ready jobs are the youngest.
    // guard: oldest-queues-are-paged-by-time
    if (sort === 'oldest') return -(now.oldestAtMs || Number.MAX_SAFE_INTEGER);
    return now[sort];
  }

  private async shown(rows: readonly Row[]) {
    const items = new Map<Row, ReturnType<OverviewService['rowFacts']>>();
    for (const view of this.views.values()) {
      const own = rows.filter(({ pool }) => pool === view.name);
      if (own.length === 0) continue;
      await view.readPage(own);
      const activity = await view.activity(own).catch(() => own.map(() => null));
      for (const [i, row] of own.entries()) items.set(row, this.rowFacts(row, activity[i] ?? null));
    }
    return rows.flatMap((row) => items.get(row) ?? []);
  }

  private rowFacts(row: Row, activity: ShownActivity | null) {
    const { pool, namespace, queue, read, sample } = row;
    const now = newest(row);
    const ageMs = now.oldestAtMs === 0 ? 0 : Math.max(this.viewOf(row).nowMs - now.oldestAtMs, 0);
    return {
      ...{ pool, namespace, queue, ...pick(now), done: now.done, cancelled: now.cancelled },
      ...perSecond(row.rates),
      ...{ oldestReadyAgeMs: ageMs, pausedAtMs: now.pausedAtMs, drainingAtMs: now.drainingSinceMs },
      ...{ workers: read?.workers ?? null, activity },
      sampledAtMs: sample.atMs || null,
      readAtMs: now.atMs || null,
    };
  }

  private poolFacts(view: PoolView, visible: readonly Row[]) {
    const own = visible.filter(({ pool }) => pool === view.name);
    const { up, degraded } = view.status;
    return {
      ...{ pool: view.name, up, degraded, error: view.error, ...view.health },
      queues: own.length,
      namespaces: new Set(own.map(({ namespace }) => namespace)).size,
      movesTo: this.config.pools[view.name]?.migrate_to ?? null,
      history: view.hasHistory,
      sampledAtMs: view.sampledAtMs || null,
    };
  }

  private totals(rows: readonly Row[]) {
    const sums = Object.fromEntries(STATES.map((state) => [state, 0])) as Record<
      (typeof STATES)[number],
      number
    >;
    const rates = { published: 0, acked: 0, failed: 0 };
    let paused = 0;
    for (const row of rows) {
      const now = newest(row);
      for (const state of STATES) sums[state] += now[state];
      if (now.pausedAtMs !== null) paused += 1;
      const own = row.rates;
      for (const name of ['published', 'acked', 'failed'] as const) rates[name] += own?.[name] ?? 0;
    }
    const isCollected = this.config.history.enabled;
    return { ...sums, ...perSecond(isCollected ? rates : null), queues: rows.length, paused };
  }
}

function pick(row: Record<(typeof STATES)[number], number>): Record<(typeof STATES)[number], number> {
  return Object.fromEntries(STATES.map((state) => [state, row[state]])) as Record<
    (typeof STATES)[number],
    number
  >;
}

/** What is known last: a queue may have been read since its sample, or sampled since it was read. */
function newest({ read, sample }: Row) {
  return read !== null && read.atMs >= sample.atMs ? read : sample;
}

function perSecond(rates: Pick<Counted, 'published' | 'acked' | 'failed'> | null) {
  const rounded = (name: 'published' | 'acked' | 'failed'): number | null =>
    rates && Math.round(rates[name] * ROUNDING) / ROUNDING;
  return {
    publishedPerS: rounded('published'),
    ackedPerS: rounded('acked'),
    failedPerS: rounded('failed'),
  };
}

/** A page of rows in their order. @returns `last`: its last place, null if there are no more */
function pageOf(
  rows: readonly Row[],
  { sort, order, limit, cursor }: OverviewQuery,
  placeOf: (row: Row) => Place,
): { readonly rows: Row[]; readonly last: string | null } {
  const isUp = (order ?? (sort === 'name' ? 'asc' : 'desc')) === 'asc';
  const before = (one: Place, other: Place): number => compare(one, other, isUp, sort === 'name');
  const placed = rows.map((row) => ({ row, place: placeOf(row) }));
  placed.sort((one, other) => before(one.place, other.place));
  const after = cursor === undefined ? null : placeIn(cursor);
  const rest = after === null ? placed : placed.filter(({ place }) => before(place, after) > 0);
  const page = rest.slice(0, limit);
  const last = page.at(-1);
  return {
    rows: page.map(({ row }) => row),
    last: last === undefined || page.length === rest.length ? null : JSON.stringify(last.place),
  };
}

/** By value, then by names: those of equal value in the order of their names. */
function compare(one: Place, other: Place, isUp: boolean, byName: boolean): number {
  if (one[0] !== other[0]) return isUp ? one[0] - other[0] : other[0] - one[0];
  const names = compareNames(one, other);
  return byName && !isUp ? -names : names;
}

function compareNames(one: Place, other: Place): number {
  for (const i of [2, 3, 1] as const) if (one[i] !== other[i]) return one[i] < other[i] ? -1 : 1;
  return 0;
}

/** @throws {InputError} the cursor is none of this list */
function placeIn(cursor: string): Place {
  return JSON.parse(fromCursor(cursor, isPlace)) as Place;
}

function isPlace(text: string): boolean {
  try {
    const place: unknown = JSON.parse(text);
    return (
      Array.isArray(place) &&
      place.length === 4 &&
      typeof place[0] === 'number' &&
      place.slice(1).every((name) => typeof name === 'string')
    );
  } catch {
    return false;
  }
}
