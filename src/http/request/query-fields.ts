import { type DeclaredField, type FieldsClass, fieldsOf } from '../../contract/fields/field.js';
import {
  type FieldProblem,
  InputError,
  MOST_PROBLEMS,
  unknownField,
} from '../../contract/fields/problems.js';
import { readFields } from '../../contract/fields/read.js';
import { leftOutOf, NO_QUERY, type Query, valuesOf } from './head.js';

const WHOLE_NUMBER = /^-?[0-9]{1,17}$/;
/** Parameter of the token, allowed on every call. */
const TOKEN = 'token';
const SHOWN_CHARACTERS = 40;

/**
 * Reads the parameters of a query, parsing numbers and lists from their texts.
 *
 * @throws {InputError} as `readFields`; an unknown parameter is a problem too, and one that cannot be read
 */
export function readQuery<T extends object>(of: FieldsClass<T>, query: Query, text = ''): T {
  const fields = fieldsOf(of);
  const unread = unreadIn(query, (name) => fields.get(name)?.text === 'repeated');
  if (unread.length > 0) throw new InputError(unread);
  const value: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  for (const [name, first] of Object.entries(query)) {
    if (name === TOKEN) continue;
    const field = fields.get(name);
    if (field?.text === 'repeated') value[name] = valuesOf(text, name);
    else value[name] = field === undefined ? first : valueOf(field, first);
  }
  return readFields(of, value);
}

/** Problems for unknown parameters of a call, and for those that cannot be read. @param of class of its known parameters; default: none */
export function unknownIn(query: Query, of?: FieldsClass): FieldProblem[] {
  const known = of && fieldsOf(of);
  const unknown = Object.keys(query).filter((name) => name !== TOKEN && known?.has(name) !== true);
  const problems = unknown.map((name) => unknownField(name, known?.keys() ?? []));
  return [...problems, ...unreadIn(query)].slice(0, MOST_PROBLEMS);
}

/** What the native API must not ignore: a call without one of its filters would act on more. */
function unreadIn(query: Query, mayRepeat = (_name: string): boolean => false): FieldProblem[] {
  // guard: unread-parameters-are-refused
  const unread = [...leftOutOf(query)].filter(([part]) => part !== TOKEN && !mayRepeat(part));
  return unread
    .slice(0, MOST_PROBLEMS)
    .map(([part, rule]) => ({ field: part.slice(0, SHOWN_CHARACTERS), rule }));
}

/** Rejects all parameters, for a call without any. @throws {InputError} naming each */
export function refuseParameters(query: Query): void {
  if (query === NO_QUERY) return;
  const problems = unknownIn(query);
  if (problems.length > 0) throw new InputError(problems);
}

function valueOf({ text: kind }: DeclaredField, text: string): unknown {
  if (kind === 'number') return WHOLE_NUMBER.test(text) ? Number(text) : text;
  if (kind === 'boolean') return text === 'true' ? true : text === 'false' ? false : text;
  return kind === 'list' ? text.split(',') : text;
}
