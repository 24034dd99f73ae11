import {
  type DeadFilter,
  type DeadOutcome,
  type DeadSelection,
  type FailureGroup,
  type Given,
  givenOptions,
  type JobSummary,
  type Page,
  type PageOptions,
  type Pumphouse,
  type RespawnOptions,
} from '@pumphouse/client';
import { toShown } from '#src/contract/fields/wire';
import { FailureGroupAnswer } from '#src/contract/job/failure-groups';
import { deadFacts, type DeadSelection as EngineSelection, respawnOf } from '#src/contract/job/dead-jobs';
import type { DeadFilter as EngineFilter, DeadStep, Respawn } from '#src/domain/job/job-lists';
import type { DeadLetterCalls, Engine, JobCalls } from '#src/engine/engine';
import { invalid } from './errors.js';
import { summaryOf } from './answers.js';
import { call, type CallOptions, itemsOf, repeat } from './calls.js';
import { timeOf } from './new-job.js';

type ListFilter = NonNullable<Parameters<Pumphouse['deadLetter']['list']>[0]>;

const PAGE = 100;

/** The dead jobs of all queues: the methods that `deadLetter` of the HTTP client has. */
export class EngineDeadLetter {
  private readonly dead: DeadLetterCalls;
  private readonly jobs: JobCalls;

  constructor(
    engine: Engine,
    private readonly namespace: string,
  ) {
    ({ deadLetter: this.dead, jobs: this.jobs } = engine);
  }

  list(filter: ListFilter = {}, { signal }: CallOptions = {}): Promise<Page<JobSummary>> {
    const { limit = PAGE, cursor, order, attribute, ...rest } = filter;
    return repeat(async () => {
      const attributes = attribute === undefined ? {} : { attributes: attributeOf(attribute) };
      const request = { limit, cursor, ...(order === undefined ? {} : { order }) };
      const page = await this.dead.listDead(
        this.namespace,
        filterOf(givenOptions({ ...rest, ...attributes })),
        request,
      );
      return { items: page.items.map(summaryOf), nextCursor: page.cursor };
    }, signal);
  }

  /** The jobs of all pages. */
  each(filter: ListFilter = {}, options: CallOptions = {}): AsyncGenerator<JobSummary, void, void> {
    return itemsOf((request) => this.list(request, options), filter);
  }

  /** A page of the failure groups of dead jobs, those first that most jobs have. */
  groups(
    { limit = PAGE, cursor }: PageOptions = {},
    { signal }: CallOptions = {},
  ): Promise<Page<FailureGroup>> {
    return repeat(async () => {
      const { items, cursor: nextCursor } = await this.jobs.groups(this.namespace, { limit, cursor });
      return { items: items.map((one) => toShown(FailureGroupAnswer, one) as FailureGroup), nextCursor };
    }, signal);
  }

  /** The failure groups of all pages. */
  eachGroup(page: PageOptions = {}, options: CallOptions = {}): AsyncGenerator<FailureGroup, void, void> {
    return itemsOf((request) => this.groups(request, options), page);
  }

  /** Makes dead jobs ready again, as new. */
  respawn(selection: RespawnOptions, options: CallOptions = {}): Promise<DeadOutcome> {
    return this.act(selection, options, (chosen) =>
      this.dead.respawnSelected(this.namespace, chosen, checkedRespawn(selection)),
    );
  }

  /** The same in another queue. */
  move(
    selection: RespawnOptions & { readonly toQueue: string },
    options: CallOptions = {},
  ): Promise<DeadOutcome> {
    return this.act(selection, options, (chosen) =>
      this.dead.respawnSelected(this.namespace, chosen, checkedRespawn(selection, selection.toQueue)),
    );
  }

  delete(selection: DeadSelection, options: CallOptions = {}): Promise<DeadOutcome> {
    return this.act(selection, options, (chosen) => this.dead.deleteSelected(this.namespace, chosen));
  }

  /** Tried again only if it changes nothing: a second run would return another count. */
  private act(
    selection: DeadSelection,
    { signal }: CallOptions,
    step: (selection: EngineSelection) => Promise<DeadStep>,
  ): Promise<DeadOutcome> {
    const run = async (): Promise<DeadOutcome> => {
      const chosen = selectionOf(selection);
      return deadFacts(await step(chosen), chosen);
    };
    return selection.dryRun === true ? repeat(run, signal) : call(run, signal);
  }
}

/** @throws {QueueError} `invalid_argument` */
function selectionOf(selection: DeadSelection): EngineSelection {
  const given = givenOptions(selection);
  const { filter, ids, limit, cursor } = given;
  if (filter === undefined && ids === undefined) throw invalid('give `filter` ({} = all dead jobs) or `ids`');
  if (ids !== undefined && (limit !== undefined || cursor !== undefined))
    throw invalid('leave out `limit` and `cursor` with `ids`');
  return { ...given, filter: filterOf(filter ?? {}) };
}

function filterOf({ from, to, ...rest }: Given<DeadFilter>): EngineFilter {
  return {
    ...rest,
    ...(from === undefined ? {} : { fromMs: timeOf('from', from) }),
    ...(to === undefined ? {} : { toMs: timeOf('to', to) }),
  };
}

/** @param text `name=value` @throws {QueueError} `invalid_argument` */
function attributeOf(text: string): Record<string, string> {
  const at = text.indexOf('=');
  if (at < 1) throw invalid('attribute must be name=value');
  return { [text.slice(0, at)]: text.slice(at + 1) };
}

/** @throws {QueueError} `invalid_argument` */
function checkedRespawn(given: RespawnOptions, queue?: string): Respawn {
  const options = givenOptions(given);
  if (options.tries !== undefined && options.keepTries === true)
    throw invalid('give one of `tries` and `keepTries`');
  return respawnOf(options, queue);
}
