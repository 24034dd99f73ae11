import type { AccessRules } from '../auth/access.js';
import type { ErrorCode } from '../domain/errors.js';
import { HTTP_PROBLEMS, type HttpCode, PROBLEMS } from '../http/answer/errors.v1.js';
import type { CallDescription } from '../http/describe.js';

type Code = ErrorCode | HttpCode;

/** Codes that every call can answer. */
const OF_ALL: readonly Code[] = [
  ...(['invalid_argument', 'bad_request', 'uri_too_long', 'headers_too_large'] as const),
  ...(['internal', 'coding_not_supported', 'overloaded'] as const),
];
/** Codes of calls that need a token: its check, and the store. */
const OF_TOKEN: readonly Code[] = [
  ...(['token_missing', 'token_invalid', 'verb_missing', 'pool_not_found'] as const),
  ...(['pool_unavailable', 'disk_full'] as const),
];

/**
 * The codes that a call can answer instead of its result, by status, ascending: its own ones, and those that follow from
 * its method, its body and its access rules.
 *
 * @param access undefined for a call without a token
 */
export function refusalsOf(
  { errors = [], body }: CallDescription,
  access: AccessRules | undefined,
  method: string,
): ReadonlyMap<number, readonly Code[]> {
  const codes = new Set<Code>([...OF_ALL, ...errors]);
  if (body !== undefined) codes.add('body_too_large');
  if (access !== undefined) {
    for (const code of OF_TOKEN) codes.add(code);
    if (access.queues !== 'body') codes.add('queue_not_allowed');
    if (access.throttle !== undefined) codes.add('rate_limited');
    if (method !== 'get') codes.add('store_full');
  }
  const byStatus = new Map<number, Code[]>();
  for (const code of codes) {
    const status = statusOf(code);
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return new Map([...byStatus].sort(([one], [other]) => one - other));
}

function statusOf(code: Code): number {
  return isHttpCode(code) ? HTTP_PROBLEMS[code] : PROBLEMS[code].status;
}

function isHttpCode(code: Code): code is HttpCode {
  return Object.hasOwn(HTTP_PROBLEMS, code);
}
