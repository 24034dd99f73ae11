import { type FieldError, isPumphouseError, type PumphouseError } from '@pumphouse/client';
import { CommanderError } from 'commander';
import { Refused, Unreachable } from './admin-client.js';
import { isUntrusted, UNTRUSTED_HINT } from './http-call.js';
import { json, printable } from './print.js';

/** Exit codes. */
export const EXIT = { ok: 0, refused: 1, failed: 2 } as const;

/** HTTP statuses from here on are failures of the server. */
const SERVER_ERROR = 500;

/** What to do about an error of the API, by its code. */
const HINTS = new Map([
  ['verb_missing', 'Make a token with this permission: pumphouse token create NAMESPACE -d TEXT --verbs …'],
  [
    'has_dependents',
    '`job cancel --cascade` cancels those jobs, too; `job rm --force` deletes it, and they have a failed dependency.',
  ],
  ['http_404', 'Give --url, or set PUMPHOUSE_URL.'],
  ['queue_not_allowed', 'Name a queue of the token (--queue), or use a token for all queues.'],
  ['push_disabled', 'Set push.enabled = true in the configuration of the server.'],
  ['queue_not_empty', 'Delete its jobs first: pumphouse queue purge QUEUE --state all'],
  ['too_many_operations', 'Wait for one to end, or stop one: pumphouse operation ls'],
  ['operation_running', 'Stop it first: pumphouse operation stop ID'],
  ['operation_not_found', 'They are kept for seven days: pumphouse operation ls'],
  ['target_in_use', 'Remove it from its queues first: pumphouse queue set QUEUE push=null'],
]);
const NO_ANSWER = 'Give --url, set PUMPHOUSE_URL, or log in again.';

/** Codes of the errors whose messages this program writes. */
const OWN_CODES = new Set(['refused', 'failed', 'some_failed', 'usage']);

/** Some of several objects were not changed. Each of them is reported already. */
export class SomeFailed extends Error {
  constructor(
    message: string,
    readonly exit: number,
  ) {
    super(message);
  }
}

/** An error about one of several objects. */
export class AtFault extends Error {
  constructor(
    readonly object: string,
    cause: unknown,
  ) {
    super(object, { cause });
  }
}

/** Why a command failed. */
export interface Failure {
  readonly exit: number;
  /** The code of the API; `refused` or `failed` from the admin port, `usage`, `some_failed`. */
  readonly code: string;
  readonly message: string;
  /** HTTP status, if there was an answer. */
  readonly status?: number;
  readonly fields?: readonly { readonly field: string; readonly rule: string }[];
  readonly hint?: string;
  /** The one of several objects that it is about. */
  readonly id?: string;
}

/** @returns undefined for an error that no command expects */
export function failureOf(error: unknown): Failure | undefined {
  if (error instanceof Refused)
    return { exit: EXIT.refused, code: 'refused', message: error.message, status: error.status };
  if (error instanceof Unreachable) {
    const { message, hint } = error;
    return { exit: EXIT.failed, code: 'failed', message, ...(hint !== undefined && { hint }) };
  }
  if (error instanceof AtFault) {
    const failure = failureOf(error.cause);
    return failure && { ...failure, id: error.object };
  }
  if (error instanceof SomeFailed) return { exit: error.exit, code: 'some_failed', message: error.message };
  if (error instanceof CommanderError) {
    const message = error.message.replace(/^error: /, '');
    return { exit: error.exitCode === 0 ? EXIT.ok : EXIT.failed, code: 'usage', message };
  }
  if (!isPumphouseError(error)) return undefined;
  const { code, status } = error;
  const { message, fields } = inApiNames(error);
  const hint = isUntrusted(error) ? UNTRUSTED_HINT : status === 0 ? NO_ANSWER : HINTS.get(code);
  return {
    exit: status > 0 && status < SERVER_ERROR ? EXIT.refused : EXIT.failed,
    ...{ code, message },
    ...(status > 0 && { status }),
    ...(fields.length > 0 && { fields }),
    ...(hint !== undefined && { hint }),
  };
}

/** Commands take fields under the names of the API: their errors name them so, too. */
function inApiNames({
  message,
  fields,
  details,
}: PumphouseError): Required<Pick<Failure, 'message' | 'fields'>> {
  const own = Array.isArray(details['errors']) ? (details['errors'] as readonly FieldError[]) : [];
  const named = fields.reduce(
    (text, shown, i) => text.replace(ruleOf(shown), () => ruleOf(own[i] ?? shown)),
    message,
  );
  return { message: named, fields: own };
}

function ruleOf({ field, rule }: FieldError): string {
  return `${field}: ${rule}`;
}

/** For the standard error, without `--json`. */
export function failureText(failure: Failure): string {
  const { code, fields = [], hint, id } = failure;
  const about = id === undefined ? '' : `${printable(id)}: `;
  const message = summaryOf(failure);
  // A message of the server is one line: what a client wrote may be in it.
  const lines = OWN_CODES.has(code) ? message.split('\n').map(printable).join('\n') : printable(message);
  const rules = fields
    .map(ruleOf)
    .filter((rule) => !message.includes(rule))
    .map((rule) => `  ${printable(rule)}\n`);
  return `pumphouse: ${about}${lines}\n${rules.join('')}${hint === undefined ? '' : `${hint}\n`}`;
}

/** The message of the server repeats the first field that is wrong: here each is named once. */
function summaryOf({ code, message, fields = [] }: Failure): string {
  const [first] = fields;
  if (code !== 'invalid_argument' || first === undefined) return message;
  if (fields.length > 1) return `${code}: ${String(fields.length)} fields are wrong:`;
  return `${code}: ${first.field === '' ? '' : `${first.field}: `}${first.rule}`;
}

/** The same as an object of JSON. */
export function failureObject({ code, message, status, fields, hint, id }: Failure): object {
  return { error: { code, message, status, fields, hint, id } };
}

export function failureJson(failure: Failure): string {
  return json(failureObject(failure));
}
