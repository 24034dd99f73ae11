import { hash } from 'node:crypto';
import { ArgumentError } from '../../contract/fields/problems.js';
import { type Action, MOST_KEPT, MOST_RUNNING, type OperationDetails } from '../../contract/operations.js';
import { notFound, QueueError } from '../../domain/errors.js';
import { packUlid, ulidSource } from '../../domain/ids.js';
import type { Respawn } from '../../domain/job/job-lists.js';
import type { RedisPool } from '../../redis/pool.js';
import { bytesAt, integerAt } from '../../redis/scripts/script.js';
import { startOperation, startUndo, stepOperation, stepUndo } from '../../redis/scripts/extended.js';
import { checkNames } from '../core/checks.js';
import { NO_QUOTAS } from '../core/quotas.js';
import type { ScriptRunner } from '../core/scripts.js';
import { changeOptions, checkChange, type JobChange } from '../jobs/job-updater.js';
import { filterText } from '../jobs/sources.js';
import type { Settings } from '../queues/settings.js';
import type { OperationRunner } from './operation-runner.js';
import { indexesText, type OperationFilter, statesOf } from './plan.js';
import { detailsOf, type Grant, grantOf, readOperation } from './record.js';

/** An operation to start. */
export interface NewOperation {
  readonly action: Action;
  readonly filter: OperationFilter;
  /** Filter, target queue and changes as answers show them. */
  readonly shown: Pick<OperationDetails, 'filter' | 'to' | 'set'>;
  readonly dryRun?: boolean;
  /** Jobs in a second, at most. */
  readonly ratePerS?: number;
  /** Target queue of `move`. */
  readonly to?: string;
  /** Changes of `patch`. */
  readonly change?: JobChange;
  /** Options of `cancel`. */
  readonly cascade?: boolean;
  readonly graceMs?: number;
  /** How dead jobs are put back. */
  readonly respawn?: Respawn;
  /** How long `cancel` or `delete` can be undone after its end, in milliseconds; left out: not at all. */
  readonly undoMs?: number;
  /** Who starts it; left out: a program without a server. */
  readonly grant?: Grant;
  /** The same operation with the same key is started once, as long as it is kept. */
  readonly idempotencyKey?: string;
}

/** An operation, and who started it. */
export interface FoundOperation {
  readonly details: OperationDetails;
  readonly grant: Grant | null;
}

/** Codes of lua/commands/extended/start_operation.lua. */
const CODE = { stored: 0, storedBefore: 1, otherRequest: 2, tooMany: 3 } as const;
/** Codes of lua/commands/extended/start_undo.lua. */
const UNDO_CODE = {
  notFound: 0,
  runs: 1,
  isDone: 2,
  operationRuns: 3,
  nothingKept: 4,
  isExpired: 5,
  isDropped: 6,
  tooMany: 7,
} as const;
const NO_DATA = Buffer.alloc(0);
const USUAL_RESPAWN: Respawn = { ttlMs: 0, tries: 'reset' };

/** Actions over all jobs that a filter matches: they are stored here, and `OperationRunner` does their steps. */
export class Operations {
  private readonly mint = ulidSource();

  constructor(
    private readonly pool: RedisPool,
    private readonly runner: ScriptRunner,
    private readonly steps: OperationRunner,
    private readonly settings: Pick<Settings, 'of'>,
  ) {}

  /**
   * Starts an operation; the work is done afterwards.
   *
   * @returns it; `isReplayed`: it was started before by the same request
   * @throws {QueueError} `invalid_argument`, `too_many_operations`, `idempotency_key_reused`, `store_full`, or an error
   *   of the store
   */
  async start(
    namespace: string,
    operation: NewOperation,
  ): Promise<FoundOperation & { readonly isReplayed: boolean }> {
    const { queue } = operation.filter;
    checkNames(namespace, ...(queue === undefined ? [] : [queue]));
    if (operation.to !== undefined) checkNames(namespace, operation.to);
    const states = statesOf(operation.action, operation.filter);
    const filter = { ...operation.filter, state: states };
    const fields = await this.fieldsOf(namespace, operation, filter);
    const { raw } = await this.runner.run(
      startOperation,
      namespace,
      {
        id: this.mint(this.runner.now()),
        ...keyOf(operation, fields),
        indexes: indexesText(states, filter),
        ...{ most_running: MOST_RUNNING, most_kept: MOST_KEPT },
        frees: freesOf(operation),
      },
      fields,
    );
    const [code, id] = [integerAt(raw, 2), bytesAt(raw, 3).toString()];
    if (code === CODE.tooMany) throw tooMany();
    const found = code === CODE.otherRequest ? null : await this.find(namespace, id);
    if (found === null) throw keyReused();
    this.steps.want(namespace, id);
    return { ...found, isReplayed: code === CODE.storedBefore };
  }

  /** @returns null if there is none. A running one is taken up by this process, if no other one goes on with it */
  async find(namespace: string, id: string): Promise<FoundOperation | null> {
    checkNames(namespace);
    if (packUlid(id) === null) return null;
    const stored = await readOperation(this.pool, namespace, id);
    return stored && { details: detailsOf(id, stored), grant: grantOf(stored) };
  }

  /** All that are kept, newest first. @throws {QueueError} an error of the store */
  async list(namespace: string): Promise<FoundOperation[]> {
    checkNames(namespace);
    const ids = await this.pool.read('ZREVRANGE', this.pool.keys.single(namespace, 'operations'), 0, -1);
    const all = Array.isArray(ids) ? ids.map(String) : [];
    const found = await Promise.all(all.map((id) => this.find(namespace, id)));
    return found.filter((one) => one !== null);
  }

  /** Stops an operation, or its undo, after its present step; one that has ended stays as it is. @throws {QueueError} `operation_not_found` */
  async stop(namespace: string, id: string): Promise<FoundOperation> {
    if (packUlid(id) === null) throw notFound('operation', id);
    await this.runner.run(stepUndo, namespace, { id, reason: 'stopped', limit: 0, quotas: NO_QUOTAS });
    await this.runner.run(stepOperation, namespace, {
      ...{ id, reason: 'stopped', limit: 0, scan_limit: 0 },
      ...{ is_last: '0', is_limited: '0', no_push: '0', most_bytes: 0, most_queues: 0, most_jobs: 0 },
    });
    const found = await this.find(namespace, id);
    if (found === null) throw notFound('operation', id);
    return found;
  }

  /**
   * Begins to undo an operation, or goes on with an undo that was stopped; the work is done afterwards. One that runs, or
   * is done, stays as it is.
   *
   * @param grant who undoes it; left out: a program without a server
   * @throws {QueueError} `operation_not_found`; `operation_running`; `undo_gone`: nothing is kept of it;
   *   `too_many_operations`, `store_full`, or an error of the store
   */
  async undo(namespace: string, id: string, grant?: Grant): Promise<FoundOperation> {
    checkNames(namespace);
    if (packUlid(id) === null) throw notFound('operation', id);
    const fields = grantFields(grant).map(([field, value]) => [`undo_${field}`, value] as const);
    const { raw } = await this.runner.run(startUndo, namespace, { id, most_running: MOST_RUNNING }, fields);
    const code = integerAt(raw, 2);
    if (code === UNDO_CODE.tooMany) throw tooMany();
    if (code === UNDO_CODE.operationRuns) throw operationRuns();
    const found = code === UNDO_CODE.notFound ? null : await this.find(namespace, id);
    if (found === null) throw notFound('operation', id);
    if (code === UNDO_CODE.runs) this.steps.want(namespace, id);
    else if (code !== UNDO_CODE.isDone) throw undoGone(found.details, code);
    return found;
  }

  /** The fields of the record. */
  private async fieldsOf(
    namespace: string,
    operation: NewOperation,
    filter: OperationFilter,
  ): Promise<(readonly [string, string | number | Buffer])[]> {
    const { grant, change, shown, ratePerS = 0 } = operation;
    if (change !== undefined) checkChange(change);
    const options = {
      cascade: operation.cascade === true,
      grace_ms: operation.graceMs ?? (await this.settings.of(namespace)).grace_ms,
      ttl_ms: (operation.respawn ?? USUAL_RESPAWN).ttlMs,
      tries: (operation.respawn ?? USUAL_RESPAWN).tries,
      queue: operation.to,
      wish: change && changeOptions(change),
    };
    return [
      ['action', operation.action],
      ['filter', filterText(filter)],
      ['options', JSON.stringify(options)],
      ['data', change?.data?.body ?? NO_DATA],
      ['shown', JSON.stringify({ ...shown, filter: { ...shown.filter, state: filter.state } })],
      ['rate', ratePerS],
      ['dry', operation.dryRun === true ? '1' : '0'],
      ['frees', freesOf(operation)],
      ...grantFields(grant),
      ...undoFields(operation),
    ];
  }
}

function grantFields(grant: Grant | undefined): (readonly [string, string])[] {
  return [
    ['by', grant?.by ?? ''],
    ['hint', grant?.hint ?? ''],
    ['verbs', grant?.verbs.join(',') ?? ''],
    ['patterns', grant?.patterns?.join(',') ?? ''],
  ];
}

/** What is kept for the undo takes memory. A dry run changes nothing. */
function undoFields({ undoMs, dryRun }: NewOperation): (readonly [string, string | number])[] {
  if (undoMs === undefined || dryRun === true) return [];
  return [
    ['undo_ms', undoMs],
    ['undo', 'kept'],
  ];
}

/** Whether a full Redis takes it all the same. */
function freesOf({ action, dryRun, undoMs }: NewOperation): '0' | '1' {
  return dryRun === true || (action === 'delete' && undoMs === undefined) ? '1' : '0';
}

function operationRuns(): QueueError {
  return new QueueError('operation_running', 'the operation runs: stop it first, or wait for its end');
}

/** The record may not say so yet. */
const GONE = new Map<number, string>([
  [UNDO_CODE.isExpired, 'its undo_ms is over'],
  [UNDO_CODE.isDropped, 'Redis was full, and what it kept was removed'],
]);

function undoGone({ undo, dryRun }: OperationDetails, code: number): QueueError {
  const usual = dryRun ? 'it was a dry run' : 'it was started without undo_ms';
  const why = undo?.message ?? /* guard: undo-says-that-its-time-is-over */ GONE.get(code) ?? usual;
  return new QueueError('undo_gone', `the operation cannot be undone: ${why}`);
}

function keyOf(
  { idempotencyKey }: NewOperation,
  fields: readonly (readonly [string, string | number | Buffer])[],
): { readonly key: string; readonly fingerprint: string } {
  if (idempotencyKey === undefined) return { key: '', fingerprint: '' };
  const request = fields.map(([field, value]) => [
    field,
    Buffer.isBuffer(value) ? value.toString('base64') : value,
  ]);
  return {
    key: hash('sha256', idempotencyKey, 'hex'),
    fingerprint: hash('sha256', JSON.stringify(request), 'hex'),
  };
}

/** The error for an idempotency key that another operation has. */
export function keyReused(): QueueError {
  return new QueueError('idempotency_key_reused', 'the idempotency key was used for another operation');
}

function tooMany(): QueueError {
  const count = String(MOST_RUNNING);
  return new QueueError(
    'too_many_operations',
    `${count} operations of the namespace run: wait until one has ended, or stop one`,
  );
}

/**
 * Checks that the fields of an operation go with its action.
 *
 * @throws {QueueError} `invalid_argument`
 */
export function checkFields(action: Action, given: Readonly<Record<string, unknown>>): void {
  const refuse = (field: string, rule: string): never => {
    throw new ArgumentError(field, rule);
  };
  for (const [field, actions] of Object.entries(FIELDS_OF))
    if (given[field] !== undefined && !actions.includes(action))
      refuse(field, `goes with ${actions.join(' or ')} only, not with ${action}`);
  if (action === 'move' && given['to'] === undefined)
    refuse('to', 'is missing: the queue that the jobs move to');
  if (action === 'patch' && given['set'] === undefined) refuse('set', 'is missing: the changes');
  if (given['tries'] !== undefined && given['keepTries'] === true)
    refuse('tries', 'does not go with keep_tries');
}

const FIELDS_OF: Readonly<Record<string, readonly Action[]>> = {
  to: ['move'],
  set: ['patch'],
  cascade: ['cancel'],
  graceMs: ['cancel'],
  tries: ['respawn', 'move'],
  keepTries: ['respawn', 'move'],
  ttlMs: ['respawn', 'move'],
  undoMs: ['cancel', 'delete'],
};
