import { PumphouseError } from '@pumphouse/client';
import { ArgumentError } from '#src/contract/fields/problems';
import { shownPath } from '#src/contract/fields/wire';
import {
  DependentsError,
  type ErrorCode,
  LeaseLostError,
  NotLeasedError,
  QueueError,
  UniqueKeyTakenError,
} from '#src/domain/errors';

/** The same call may succeed later. */
const RETRYABLE: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  ...(['pool_unavailable', 'pool_moving', 'disk_full'] as const),
  ...(['durability_unavailable', 'not_replicated'] as const),
  ...(['queue_full', 'namespace_full', 'too_many_operations'] as const),
]);

/** An error of the engine as the client's error; any other one as it is. @param attempts how often it was tried */
export function toClientError(error: unknown, attempts = 1): unknown {
  if (!(error instanceof QueueError)) return error;
  return new PumphouseError(error.code, messageOf(error), {
    retryable: RETRYABLE.has(error.code),
    attempts,
    details: detailsOf(error),
    cause: error,
  });
}

function messageOf(error: QueueError): string {
  return error instanceof ArgumentError
    ? `${shownPath(error.field)} ${error.rule}`
    : (error.detail ?? error.message);
}

/** Under the names of the API. */
function detailsOf(error: QueueError): Readonly<Record<string, unknown>> {
  if (error instanceof ArgumentError)
    return { errors: [{ field: shownPath(error.field), rule: error.rule }] };
  if (error instanceof DependentsError) return { dependents: error.dependents };
  if (error instanceof UniqueKeyTakenError) return { holder_id: error.holderId };
  if (error instanceof LeaseLostError || error instanceof NotLeasedError) return { state: error.state };
  return {};
}

/** The error for arguments of a call that break a rule. */
export function invalid(message: string): QueueError {
  return new QueueError('invalid_argument', message);
}

/** The error for one argument that breaks its rule. @param field under its name in the client */
export function invalidField(field: string, rule: string): QueueError {
  return new ArgumentError(field, rule);
}
