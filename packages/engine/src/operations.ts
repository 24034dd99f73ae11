import {
  type Given,
  givenOptions,
  type NewOperation,
  type Operation,
  type OperationCalls,
  type OperationFilter,
  type Page,
  type PageOptions,
  untilEnded,
  type WaitForOperation,
} from '@pumphouse/client';
import { toShown } from '#src/contract/fields/wire';
import { respawnOf } from '#src/contract/job/dead-jobs';
import { OperationAnswer, type OperationDetails } from '#src/contract/operations';
import { notFound } from '#src/domain/errors';
import { isoTime } from '#src/domain/iso-time';
import type { Engine, OperationCalls as EngineCalls } from '#src/engine/engine';
import { checkFields, type NewOperation as EngineOperation } from '#src/engine/operations/operations';
import type { OperationFilter as EngineFilter } from '#src/engine/operations/plan';
import { call, type CallOptions, repeat } from './calls.js';
import { changeOf } from './jobs.js';
import { timeOf } from './new-job.js';

const PAGE = 100;

/** Actions over all jobs that a filter matches: the methods that `operations` of the HTTP client has. */
export class EngineOperations implements OperationCalls {
  private readonly calls: EngineCalls;

  constructor(
    engine: Engine,
    private readonly namespace: string,
  ) {
    this.calls = engine.operations;
  }

  /** Starts an operation, which this program, or any server, does. */
  start(
    operation: NewOperation,
    { idempotencyKey, signal }: CallOptions & { readonly idempotencyKey?: string | undefined } = {},
  ): Promise<Operation> {
    return call(async () => {
      const key = idempotencyKey === undefined ? {} : { idempotencyKey };
      const started = await this.calls.start(this.namespace, { ...operationOf(operation), ...key });
      return shownOf(started.details);
    }, signal);
  }

  /** @throws {PumphouseError} `operation_not_found` */
  get(id: string, { signal }: CallOptions = {}): Promise<Operation> {
    return repeat(async () => {
      const found = await this.calls.find(this.namespace, id);
      if (found === null) throw notFound('operation', id);
      return shownOf(found.details);
    }, signal);
  }

  /** A page of those that run or ended within a week, newest first. */
  list({ limit = PAGE, cursor }: PageOptions = {}, { signal }: CallOptions = {}): Promise<Page<Operation>> {
    return repeat(async () => {
      const all = await this.calls.list(this.namespace);
      const rest = all.filter(({ details: { id } }) => cursor === undefined || id < cursor);
      const items = rest.slice(0, limit).map(({ details }) => shownOf(details));
      return { items, nextCursor: rest.length > items.length ? (items.at(-1)?.id ?? null) : null };
    }, signal);
  }

  /** Stops an operation; what it has done stays done. */
  stop(id: string, { signal }: CallOptions = {}): Promise<Operation> {
    return repeat(async () => shownOf((await this.calls.stop(this.namespace, id)).details), signal);
  }

  /** Begins to bring back the jobs that an operation with `undoMs` has ended. */
  undo(id: string, { signal }: CallOptions = {}): Promise<Operation> {
    return repeat(async () => shownOf((await this.calls.undo(this.namespace, id)).details), signal);
  }

  /** Waits until an operation, or its undo, has ended. */
  wait(id: string, options: WaitForOperation = {}): Promise<Operation> {
    return untilEnded((request) => this.get(id, request), options);
  }
}

function shownOf(details: OperationDetails): Operation {
  return toShown(OperationAnswer, details) as Operation;
}

/** @throws {QueueError} `invalid_argument` */
function operationOf(operation: NewOperation): EngineOperation {
  const { action, filter, set, dryRun, ratePerS, to, cascade, graceMs, undoMs, ...respawn } =
    givenOptions(operation);
  checkFields(action, { to, set, cascade, graceMs, undoMs, ...respawn });
  const change = set && changeOf(set);
  const shown = set && shownSet(set);
  const options = { dryRun, ratePerS, to, cascade, graceMs, undoMs, change };
  return {
    action,
    filter: filterOf(filter),
    shown: { filter: shownFilter(filter), to: to ?? null, set: shown ?? null },
    respawn: respawnOf(respawn),
    ...givenOptions(options),
  };
}

function filterOf({ from, to, ...rest }: Given<OperationFilter>): EngineFilter {
  return {
    ...rest,
    ...(from === undefined ? {} : { fromMs: timeOf('filter.from', from) }),
    ...(to === undefined ? {} : { toMs: timeOf('filter.to', to) }),
  };
}

function shownFilter({ from, to, ...rest }: Given<OperationFilter>): EngineOperation['shown']['filter'] {
  return {
    ...rest,
    state: [...(rest.state ?? [])],
    ...(from === undefined ? {} : { from: isoTime(timeOf('filter.from', from)) }),
    ...(to === undefined ? {} : { to: isoTime(timeOf('filter.to', to)) }),
  };
}

function shownSet(set: Given<NonNullable<NewOperation['set']>>): EngineOperation['shown']['set'] {
  const { data, json, dueAt, ...rest } = set;
  return {
    ...rest,
    ...(dueAt === undefined ? {} : { dueAtMs: timeOf('set.dueAt', dueAt) }),
    ...(data === undefined && json === undefined ? {} : { data: true }),
  };
}
