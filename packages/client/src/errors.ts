import { type FieldError, shownField } from './field-names.js';

export interface PumphouseErrorOptions {
  readonly status?: number | undefined;
  readonly requestId?: string | null | undefined;
  readonly retryable?: boolean | undefined;
  /** How often it was sent; 1 if it is left out. */
  readonly attempts?: number | undefined;
  readonly mayBeDone?: boolean | undefined;
  /** What else the answer says of the error: `state`, `holder_id`, `dependents` … */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
  readonly cause?: unknown;
}

/** Every error of this library, other than the reason of an aborted `AbortSignal` and mistakes in arguments (`TypeError`). */
export class PumphouseError extends Error {
  override readonly name = 'PumphouseError';
  /** The server's code (`job_not_found`, `lease_lost` …), or `network`, `timeout`, `invalid_response`, `invalid_input`, `invalid_output`. */
  readonly code: string;
  /** HTTP status; 0 if there was no answer. */
  readonly status: number;
  /** The server's log names it too; null if there was no answer. */
  readonly requestId: string | null;
  /** True: the same call may succeed later. The library has tried again already where that was safe. */
  readonly retryable: boolean;
  /** How often the call was sent. */
  readonly attempts: number;
  /** True: an earlier attempt, whose answer was lost, may have done it. */
  readonly mayBeDone: boolean;
  readonly details: Readonly<Record<string, unknown>>;

  constructor(code: string, message: string, options: PumphouseErrorOptions = {}) {
    super(`${code}: ${message}`, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.status = options.status ?? 0;
    this.requestId = options.requestId ?? null;
    this.retryable = options.retryable ?? false;
    this.attempts = options.attempts ?? 1;
    this.mayBeDone = options.mayBeDone ?? false;
    this.details = options.details ?? {};
  }

  /** The fields that the server refused; [] if it names none. */
  get fields(): readonly FieldError[] {
    return fieldsIn(this.details['errors']);
  }
}

/** The refused fields of an answer as this library calls them. @param errors anything: a proxy may have answered */
export function fieldsIn(errors: unknown): FieldError[] {
  return Array.isArray(errors) ? (errors as readonly FieldError[]).map(shownField) : [];
}

/** True if a proxy in between has answered: its answer has no code of the API, and says nothing of the call. */
export function isOfProxy({ code, status }: PumphouseError): boolean {
  return code === `http_${String(status)}`;
}

/** True if `error` is a `PumphouseError`, with one of these codes if any are given. */
export function isPumphouseError(error: unknown, ...codes: string[]): error is PumphouseError {
  return error instanceof PumphouseError && (codes.length === 0 || codes.includes(error.code));
}
