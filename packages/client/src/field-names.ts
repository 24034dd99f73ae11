import { camelOf, OPAQUE } from './wire.js';

/** A field of a request that the server refused. */
export interface FieldError {
  /** Its path as this library calls it, `retry.delayMs`; `details.errors` has the names of the API. */
  readonly field: string;
  readonly rule: string;
}

/** What the API calls otherwise than by the same words: headers, and bytes in base64. */
const OWN_NAMES: Readonly<Record<string, string>> = {
  'Idempotency-Key': 'idempotencyKey',
  'Idempotency-TTL-Ms': 'idempotencyTtlMs',
  'X-Durability': 'durability',
  data_base64: 'data',
};
/** Words behind which a rule names fields. */
const NAMING =
  /\b(did you mean|known:|together with|at least|less than|only with|an object with|must be the|an) ([\w.-]+(?:(?:, | and | or )[\w.-]+)*)/g;

/** A refused field, and the fields that its rule names, as this library calls them: `retry.delayMs` for `retry.delay_ms`. */
export function shownField({ field, rule }: FieldError): FieldError {
  const names = (all: string): string => all.replaceAll(/[\w.-]+/g, (path) => shownPath(path));
  return {
    field: shownPath(field),
    rule: rule.replaceAll(NAMING, (_, phrase: string, all: string) => `${phrase} ${names(all)}`),
  };
}

/** Names of the user's own stay, and settings of the server. */
function shownPath(path: string): string {
  if (path.startsWith('limits.')) return path;
  let isOwn = false;
  const names = path.split('.').map((name) => {
    if (isOwn) return name;
    isOwn = OPAQUE.has(name);
    return OWN_NAMES[name] ?? camelOf(name);
  });
  return names.join('.');
}
