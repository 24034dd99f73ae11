import type { Ack, AckResult } from '../domain/job.js';
import { MAX_ACKS, MAX_NAME_LENGTH, MAX_UINT32 } from '../domain/limits.js';
import { hasLegalCharacters, isJobId } from '../domain/names.js';
import { type FieldProblem, InputError } from '../http/errors.v1.js';

/** More are not listed: who has made one mistake a thousand times needs to be told a few times only. */
const MOST_PROBLEMS = 20;

/** A stranger's word is repeated up to this length. */
const SHOWN_CHARACTERS = 40;

const BODY_RULE = 'must be JSON: an object with a list `acks`, and nothing else';
const LIST_RULE = `must be a list of 1 to ${String(MAX_ACKS)} acknowledgements`;
const ITEM_RULE = 'must be an object';
const RULES = {
  queue: `must be a queue's name: letters, digits, - and _, at most ${String(MAX_NAME_LENGTH)}, the first not _`,
  id: "must be a job's id",
  lease: `must be a whole number from 1 to ${String(MAX_UINT32)}, or be left out`,
} as const;
const UNKNOWN_RULE = 'is not known here';

/**
 * Reads the body of a batch acknowledgement.
 *
 * @throws {InputError} naming what is wrong with which item
 */
export function acksOf(body: Buffer): Ack[] {
  const list = listOf(body);
  const problems: FieldProblem[] = [];
  const acks: Ack[] = [];
  let queue = '';
  for (let i = 0; i < list.length && problems.length < MOST_PROBLEMS; i++) {
    const item: unknown = list[i];
    if (!isObject(item)) problems.push({ field: `acks[${String(i)}]`, rule: ITEM_RULE });
    // Most batches are of one queue: its name need not be looked at a hundred times.
    else if (isAck(item, queue)) {
      queue = item.queue;
      acks.push(item);
    } else problems.push(...problemsOf(item, i));
  }
  if (problems.length > 0) throw new InputError(problems.slice(0, MOST_PROBLEMS));
  return acks;
}

/** What became of each, in order. Ids and names were checked: they need no escaping. */
export function resultsJson(acks: readonly Ack[], results: readonly AckResult[]): string {
  let json = '';
  for (let i = 0; i < acks.length; i++) {
    json += `${i === 0 ? '' : ','}{"id":"${acks[i]?.id ?? ''}","status":"${results[i] ?? 'not_found'}"}`;
  }
  return `{"results":[${json}]}`;
}

function listOf(body: Buffer): unknown[] {
  const value = parsed(body);
  if (!isObject(value) || Object.keys(value).some((key) => key !== 'acks')) {
    throw new InputError([{ field: '', rule: BODY_RULE }]);
  }
  const list: unknown = value.acks;
  if (!Array.isArray(list) || list.length < 1 || list.length > MAX_ACKS) {
    throw new InputError([{ field: 'acks', rule: LIST_RULE }]);
  }
  return list;
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString()) as unknown;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** @param legalQueue a name that is known to be a queue's */
function isAck(item: Record<string, unknown>, legalQueue: string): item is Record<string, unknown> & Ack {
  const { queue, id, lease } = item;
  if ((queue !== legalQueue || queue === '') && !isQueue(queue)) return false;
  if (typeof id !== 'string' || !isJobId(id)) return false;
  if (lease !== undefined && !isLease(lease)) return false;
  for (const key in item) if (key !== 'queue' && key !== 'id' && key !== 'lease') return false;
  return true;
}

function problemsOf(item: Record<string, unknown>, i: number): FieldProblem[] {
  const { queue, id, lease } = item;
  const at = `acks[${String(i)}]`;
  const problems: FieldProblem[] = [];
  if (!isQueue(queue)) problems.push({ field: `${at}.queue`, rule: RULES.queue });
  if (typeof id !== 'string' || !isJobId(id)) problems.push({ field: `${at}.id`, rule: RULES.id });
  if (lease !== undefined && !isLease(lease)) problems.push({ field: `${at}.lease`, rule: RULES.lease });
  for (const key of Object.keys(item)) {
    if (Object.hasOwn(RULES, key)) continue;
    problems.push({ field: `${at}.${key.slice(0, SHOWN_CHARACTERS)}`, rule: UNKNOWN_RULE });
  }
  return problems;
}

function isQueue(value: unknown): boolean {
  return (
    typeof value === 'string' &&
    value.length <= MAX_NAME_LENGTH &&
    !value.startsWith('_') &&
    hasLegalCharacters(value)
  );
}

function isLease(value: unknown): boolean {
  return typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= MAX_UINT32;
}
