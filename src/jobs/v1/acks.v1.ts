import type { LimitsConfig } from '../../config/config.js';
import { MAX_ACKS, MAX_UINT32 } from '../../domain/limits.js';
import { isJobId, isQueueName } from '../../domain/ids.js';
import type { Ack } from '../../domain/job/job.js';
import { InputError } from '../../contract/fields/problems.js';
import { isObject } from '../../contract/fields/kinds.js';
import { Problems } from '../../contract/fields/problems.js';
import { readObject } from '../../contract/fields/read.js';
import { jsonOf } from '../../contract/json/body-json.js';
import { AckManyFields, AckManyItem } from '../dto/settle.v1.js';
import { outcomeOf } from './outcomes.v1.js';
import type { AckStatus, ExtendedAck } from '../../domain/job/extended-job.js';
import type { LostAck } from '../jobs.service.js';

/** An acknowledgement of a batch: each names the queue of its job. */
export type BatchAck = ExtendedAck & { readonly queue: string };

/** Placeholder for an ack that is rejected. */
const NO_ACK: BatchAck = { queue: '', id: '' };
const BODY_RULE = 'must be an object with a list `acks`, and nothing else';
const LIST_RULE = `must be a list of 1 to ${String(MAX_ACKS)} acknowledgements`;
const NO_LEASE_RULE =
  'is missing: set it to the number of the lease; or set `force` to true, which deletes the job in any state and needs the permission admin';
const OUTCOME_RULE = 'is missing: required with a result, new data or a next queue';
const FORCE_RULE = 'must not be set together with a lease';

/** A longer body is checked before it is parsed, in bytes; a shorter one only if an item has more than the three fields. */
const SHORT = 65_536;

/**
 * Reads the body of a batch ack.
 *
 * @returns the acks; those without a lease are forced, which callers need the permission admin for
 * @throws {InputError} naming the items and what is wrong with them
 */
export function acksOf(
  body: Buffer,
  { max_body_bytes: maxBytes, max_json_depth }: Pick<LimitsConfig, 'max_body_bytes' | 'max_json_depth'>,
): BatchAck[] {
  const withPayloads = (): unknown =>
    body.length === 0 ? undefined : jsonOf(body, max_json_depth, AckManyFields);
  const plain = body.length > SHORT ? undefined : plainJson(body);
  const list = listOf(plain ?? withPayloads());
  const problems = new Problems();
  const acks: BatchAck[] = [];
  let queue = '';
  let withTexts = plain === undefined ? list : undefined;
  for (let i = 0; i < list.length && !problems.isFull; i++) {
    const item: unknown = list[i];
    // Most batches are for one queue: its name is validated only once.
    if (isObject(item) && isAck(item, queue)) {
      queue = item.queue;
      acks.push(item);
    } else {
      // Parsed again, to keep results exactly as they were written. Most batches have no results.
      withTexts ??= listOf(withPayloads());
      acks.push(extendedAckOf(withTexts[i], `acks[${String(i)}]`, maxBytes, problems));
    }
  }
  problems.settle();
  return acks;
}

/** Writes the result of each ack, in order. Ids and names were validated: they need no escaping. */
export function resultsJson(
  acks: readonly Ack[],
  results: readonly (Exclude<AckStatus, 'lease_lost'> | LostAck)[],
): string {
  let json = '';
  for (let i = 0; i < acks.length; i++) {
    const result = results[i] ?? 'not_found';
    json += `${i === 0 ? '' : ','}{"id":"${acks[i]?.id ?? ''}",${typeof result === 'string' ? `"status":"${result}"` : lostJson(result)}}`;
  }
  return `{"results":[${json}]}`;
}

function lostJson({ status, state }: LostAck): string {
  return JSON.stringify({ status, state }).slice(1, -1);
}

/** @returns undefined if it is not JSON */
function plainJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

function listOf(value: unknown): unknown[] {
  if (!isObject(value) || Object.keys(value).some((key) => key !== 'acks')) {
    throw new InputError([{ field: '', rule: BODY_RULE }]);
  }
  const list: unknown = value.acks;
  if (!Array.isArray(list) || list.length < 1 || list.length > MAX_ACKS) {
    throw new InputError([{ field: 'acks', rule: LIST_RULE }]);
  }
  return list;
}

/** @param legalQueue a queue name that was validated already */
function isAck(
  item: Record<string, unknown>,
  legalQueue: string,
): item is Record<string, unknown> & BatchAck {
  const { queue, id, lease } = item;
  if ((queue !== legalQueue || queue === '') && !isQueue(queue)) return false;
  if (typeof id !== 'string' || !isJobId(id)) return false;
  if (!isLease(lease)) return false;
  for (const key in item) if (key !== 'queue' && key !== 'id' && key !== 'lease') return false;
  return true;
}

/**
 * Reads an ack with a result, new data, a next queue or `force`: only a forced one has no lease. Adds what is wrong with an invalid
 * one to `problems`.
 */
function extendedAckOf(item: unknown, at: string, maxBytes: number, problems: Problems): BatchAck {
  const own = new Problems();
  const fields = readObject(AckManyItem, item, at, own);
  if (own.isEmpty()) {
    const { queue, id, lease, force = false } = fields;
    const outcome = outcomeOf(fields, `${at}.`, maxBytes, own);
    if (lease !== undefined && force) own.add(`${at}.force`, FORCE_RULE);
    if (lease === undefined && outcome !== undefined) own.add(`${at}.lease`, OUTCOME_RULE);
    else if (lease === undefined && !force) own.add(`${at}.lease`, NO_LEASE_RULE);
    if (own.isEmpty()) {
      return { queue, id, ...(lease === undefined ? {} : { lease }), ...(outcome && { outcome }) };
    }
  }
  problems.addAll(own);
  return NO_ACK;
}

function isQueue(value: unknown): boolean {
  return typeof value === 'string' && isQueueName(value);
}

function isLease(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_UINT32;
}
