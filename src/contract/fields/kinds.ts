import { MAX_JOB_ID_LENGTH, MAX_NAME_LENGTH } from '../../domain/limits.js';
import { isJobId, isQueueName } from '../../domain/ids.js';
import { momentOf, momentRule } from '../../domain/moment.js';
import { parseJsonPath } from '../json/json-path.js';
import { declare, declareParts, type FieldsClass } from './field.js';

/** Text without control characters and lone surrogates. */
const LABEL = /^[^\p{Cc}\p{Cs}]*$/u;
/** A lone surrogate cannot be stored as UTF-8. */
const WHOLE_CHARACTERS = /^\P{Cs}*$/u;
const QUEUE = /^[-A-Za-z0-9][-_A-Za-z0-9]*$/;
const JOB_ID = /^[A-Za-z0-9][A-Za-z0-9_-]*$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** The same of a text whose length is a multiple of four. A group that is repeated a million times overflows the stack. */
// guard: base64-of-any-length
const BASE64_LETTERS = /^[A-Za-z0-9+/]*={0,2}$/;

/** Without an example, pages that show a schema generate a text from its pattern: arbitrary characters. */
const A_TEXT = ['text'];

const QUEUE_RULE = `must be a queue's name: letters, digits, - and _, at most ${String(MAX_NAME_LENGTH)}, the first not _`;
const JOB_ID_RULE = `must be a job's id: letters, digits, - and _, at most ${String(MAX_JOB_ID_LENGTH)}, the first a letter or a digit`;

/** Minimum and maximum of a length or a number of items. */
export interface Range {
  /** Default 1. */
  readonly min?: number;
  readonly max: number;
}

/** A text without control characters. Lengths are in UTF-16 units. */
export function Label(about: string, { min = 1, max }: Range): PropertyDecorator {
  const schema = { type: 'string', minLength: min, maxLength: max, pattern: LABEL.source, examples: A_TEXT };
  const rule = `must be a text of ${min} to ${max} characters, none of them a control character`;
  return declare({ schema, about }, rule, (value) => isText(value, min, max) && LABEL.test(value));
}

/**
 * A label with a rule of its own.
 *
 * @param rule what it must be: "must be …"
 * @param problemOf the rule that a text breaks, with what is wrong; undefined if it is right
 */
export function CheckedLabel(
  about: string,
  max: number,
  rule: string,
  problemOf: (text: string) => string | undefined,
): PropertyDecorator {
  const schema = { type: 'string', minLength: 1, maxLength: max, pattern: LABEL.source };
  const textRule = `${rule}: a text of 1 to ${String(max)} characters, none of them a control character`;
  const isLabel = (value: unknown): value is string => isText(value, 1, max) && LABEL.test(value);
  return declare(
    { schema, about, ruleFor: (value) => (isLabel(value) ? (problemOf(value) ?? rule) : textRule) },
    rule,
    (value) => isLabel(value) && problemOf(value) === undefined,
  );
}

/** A text of any characters. */
export function Text(about: string, { min = 1, max }: Range): PropertyDecorator {
  const schema = { type: 'string', minLength: min, maxLength: max };
  const rule = `must be a text of ${min} to ${max} characters`;
  return declare({ schema, about }, rule, (value) => isText(value, min, max) && WHOLE_CHARACTERS.test(value));
}

/** A text that matches a pattern. @param rule what it must be: "must be …" */
export function Formed(about: string, pattern: RegExp, rule: string): PropertyDecorator {
  const schema = { type: 'string', pattern: pattern.source };
  return declare({ schema, about }, rule, (value) => typeof value === 'string' && pattern.test(value));
}

/** A list of different labels. */
export function Labels(
  about: string,
  count: Range,
  each: Range,
  text: 'list' | 'repeated' = 'list',
): PropertyDecorator {
  const { min = 0, max } = count;
  const { min: shortest = 1, max: longest } = each;
  const of = { minLength: shortest, maxLength: longest, pattern: LABEL.source, examples: A_TEXT };
  const items = { type: 'string', ...of };
  const schema = { type: 'array', items, minItems: min, maxItems: max, uniqueItems: true };
  const rule = `must be a list of ${min} to ${max} different texts of ${shortest} to ${longest} characters, without control characters`;
  return declare({ schema, about, text }, rule, (value) =>
    isSet(value, min, max, (one) => isText(one, shortest, longest) && LABEL.test(one)),
  );
}

/** A list of different labels, and `null`. */
export function LabelsOrNull(about: string, count: Range, { max: longest }: Range): PropertyDecorator {
  const { min = 1, max } = count;
  const of = { minLength: 1, maxLength: longest, pattern: LABEL.source, examples: A_TEXT };
  const items = { oneOf: [{ type: 'string', ...of }, { type: 'null' }] };
  const schema = { type: 'array', items, minItems: min, maxItems: max, uniqueItems: true };
  const rule = `must be a list of ${String(min)} to ${String(max)} different texts of 1 to ${String(longest)} characters, without control characters, or null`;
  return declare({ schema, about, text: 'list' }, rule, (value) =>
    isSet(value, min, max, (one) => one === null || (isText(one, 1, longest) && LABEL.test(one))),
  );
}

export function QueueName(about: string): PropertyDecorator {
  return declare({ schema: QUEUE_SCHEMA, about }, QUEUE_RULE, isQueue);
}

/** A list of different queue names. */
export function QueueNames(about: string, { min = 1, max }: Range): PropertyDecorator {
  const schema = { type: 'array', items: QUEUE_SCHEMA, minItems: min, maxItems: max, uniqueItems: true };
  const rule = `must be a list of ${min} to ${max} different names of queues: letters, digits, - and _, at most ${String(MAX_NAME_LENGTH)}, the first not _`;
  return declare({ schema, about, text: 'list' }, rule, (value) => isSet(value, min, max, isQueue));
}

/** A list of different JSON paths. */
export function JsonPaths(
  about: string,
  { count, characters }: { readonly count: number; readonly characters: number },
): PropertyDecorator {
  const items = { type: 'string', minLength: 1, maxLength: characters, examples: ['$.card.number'] };
  const schema = { type: 'array', items, minItems: 1, maxItems: count, uniqueItems: true };
  const rule = `must be a list of 1 to ${String(count)} different JSON paths of at most ${String(characters)} characters, made of $, .name, ['name'], [0], [*], .*, and ..name at the end`;
  const isPath = (one: unknown): boolean => isText(one, 1, characters) && parseJsonPath(one) !== undefined;
  const ruleFor = (value: unknown): string => {
    const wrong = Array.isArray(value) ? value.findIndex((one) => !isPath(one)) : -1;
    if (wrong === -1 || !Array.isArray(value)) return rule;
    const text: unknown = value[wrong];
    return `${rule}; the path ${typeof text === 'string' ? text.slice(0, characters) : String(wrong)} is not`;
  };
  return declare({ schema, about, text: 'repeated', ruleFor }, rule, (value) =>
    isSet(value, 1, count, isPath),
  );
}

export function JobId(about: string): PropertyDecorator {
  return declare({ schema: JOB_ID_SCHEMA, about }, JOB_ID_RULE, isId);
}

/** A list of different job ids. */
export function JobIds(about: string, { min = 1, max }: Range): PropertyDecorator {
  const schema = { type: 'array', items: JOB_ID_SCHEMA, minItems: min, maxItems: max, uniqueItems: true };
  const rule = `must be a list of ${min} to ${max} different ids of jobs`;
  return declare({ schema, about, text: 'list' }, rule, (value) => isSet(value, min, max, isId));
}

export function Whole(about: string, min: number, max: number): PropertyDecorator {
  const schema = { type: 'integer', minimum: min, maximum: max };
  const rule = `must be a whole number from ${min} to ${max}`;
  return declare({ schema, about, text: 'number' }, rule, (value) => isWhole(value, min, max));
}

/** A list of whole numbers, which may be repeated. */
export function Wholes(about: string, count: Range, least: number, most: number): PropertyDecorator {
  const { min = 1, max } = count;
  const items = { type: 'integer', minimum: least, maximum: most };
  const schema = { type: 'array', items, minItems: min, maxItems: max };
  const rule = `must be a list of ${min} to ${max} whole numbers from ${least} to ${most}`;
  return declare(
    { schema, about },
    rule,
    (value) => isList(value, min, max) && value.every((one) => isWhole(one, least, most)),
  );
}

/** A list of numbers, of which some may be null. For answers. */
export function NumbersOrNull(about: string): PropertyDecorator {
  const schema = { type: 'array', items: { type: ['number', 'null'] } };
  return declare({ schema, about }, 'must be a list of numbers and nulls', (value) =>
    Array.isArray(value) ? value.every((one) => one === null || typeof one === 'number') : false,
  );
}

/** Any number in a range. */
export function Real(about: string, min: number, max: number): PropertyDecorator {
  const rule = `must be a number from ${min} to ${max}`;
  return declare(
    { schema: { type: 'number', minimum: min, maximum: max }, about, text: 'number' },
    rule,
    (value) => typeof value === 'number' && value >= min && value <= max,
  );
}

export function Flag(about: string): PropertyDecorator {
  return declare(
    { schema: { type: 'boolean' }, about, text: 'boolean' },
    'must be true or false',
    (value) => typeof value === 'boolean',
  );
}

export function OneOf(about: string, values: readonly string[]): PropertyDecorator {
  return declare(
    { schema: { type: 'string', enum: values }, about },
    `must be one of ${values.join(', ')}`,
    (value) => values.some((one) => one === value),
  );
}

/** A list of different values of a few, at least one. */
export function SomeOf(about: string, values: readonly string[]): PropertyDecorator {
  const schema = {
    type: 'array',
    items: { type: 'string', enum: values },
    minItems: 1,
    maxItems: values.length,
    uniqueItems: true,
  };
  const rule = `must be a list without duplicates of: ${values.join(', ')}`;
  return declare({ schema, about, text: 'list' }, rule, (value) =>
    isSet(value, 1, values.length, (one) => values.some((known) => known === one)),
  );
}

/** A point in time by RFC 3339; seconds and offset are required, and what is below a millisecond is cut. */
export function Moment(about: string): PropertyDecorator {
  return declare(
    { schema: { type: 'string', format: 'date-time' }, about, isMoment: true, ruleFor: momentRule },
    momentRule(''),
    (value) => !Number.isNaN(momentOf(value)),
  );
}

/** Bytes in base64, padded. The call limits their number. */
export function Base64(about: string): PropertyDecorator {
  return declare(
    { schema: { type: 'string', contentEncoding: 'base64', pattern: BASE64.source }, about, isData: true },
    'must be base64 with its padding',
    (value) => typeof value === 'string' && value.length % 4 === 0 && BASE64_LETTERS.test(value),
  );
}

/** Any JSON, including null. */
export function AnyJson(about: string): PropertyDecorator {
  return declare(
    { schema: {}, about, isPayload: true, isData: true },
    'must be JSON',
    (value) => value !== undefined,
  );
}

/** Any JSON, including null, as it was written: a `JsonText`, if the body was read with its class. */
export function JsonAsWritten(about: string): PropertyDecorator {
  return declare(
    { schema: {}, about, isPayload: true, isAsWritten: true, isData: true },
    'must be JSON',
    (value) => value !== undefined,
  );
}

/** An object with texts as values. */
export function TextsByName(
  about: string,
  rule: { readonly count: number; readonly name: RegExp; readonly nameRule: string; readonly max: number },
): PropertyDecorator {
  const { count, name, nameRule, max } = rule;
  const schema = {
    type: 'object',
    maxProperties: count,
    propertyNames: { pattern: name.source },
    additionalProperties: { type: 'string', maxLength: max },
  };
  const message = `must be an object of at most ${count} texts of at most ${max} characters; names have ${nameRule}`;
  return declare({ schema, about }, message, (value) => {
    if (!isObject(value)) return false;
    const entries = Object.entries(value);
    return (
      entries.length <= count &&
      entries.every(([key, one]) => name.test(key) && isText(one, 0, max) && WHOLE_CHARACTERS.test(one))
    );
  });
}

/** `true`, `false`, or an object with whole numbers by name in `weights` and one as `default`, all of them optional. */
export function FlagOrWeights(
  about: string,
  { count, name, most }: { readonly count: number; readonly name: number; readonly most: number },
): PropertyDecorator {
  const weight = { type: 'integer', minimum: 1, maximum: most };
  const weights = {
    type: 'object',
    maxProperties: count,
    propertyNames: { minLength: 1, maxLength: name, pattern: LABEL.source },
    additionalProperties: weight,
  };
  const object = { type: 'object', properties: { weights, default: weight }, additionalProperties: false };
  const rule = `must be true, false, or an object: \`weights\`, at most ${String(count)} whole numbers from 1 to ${String(most)} by key, and \`default\`, one for all other keys`;
  const isWeights = (value: unknown): boolean =>
    isObject(value) &&
    Object.keys(value).length <= count &&
    Object.entries(value).every(
      ([key, one]) => isText(key, 1, name) && LABEL.test(key) && isWhole(one, 1, most),
    );
  return declare({ schema: { oneOf: [{ type: 'boolean' }, object] }, about }, rule, (value) => {
    if (typeof value === 'boolean') return true;
    if (!isObject(value)) return false;
    return Object.entries(value).every(([field, one]) =>
      field === 'weights' ? isWeights(one) : field === 'default' && isWhole(one, 1, most),
    );
  });
}

/** An object of a class. */
export function Part(about: string, of: () => FieldsClass): PropertyDecorator {
  return declareParts({ about, of });
}

/** A list of such objects, at least one unless `minItems` says otherwise. */
export function Parts(
  about: string,
  of: () => FieldsClass,
  maxItems: number,
  minItems = 1,
): PropertyDecorator {
  return declareParts({ about, of, maxItems, minItems });
}

/** True for a JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const QUEUE_SCHEMA = {
  type: 'string',
  pattern: QUEUE.source,
  maxLength: MAX_NAME_LENGTH,
  examples: ['mail'],
};
const JOB_ID_SCHEMA = {
  type: 'string',
  pattern: JOB_ID.source,
  maxLength: MAX_JOB_ID_LENGTH,
  examples: ['01M7Z17XME660YPHBY512QCVQF'],
};

function isQueue(value: unknown): boolean {
  return typeof value === 'string' && isQueueName(value);
}

function isId(value: unknown): boolean {
  return typeof value === 'string' && isJobId(value);
}

function isText(value: unknown, min: number, max: number): value is string {
  return typeof value === 'string' && value.length >= min && value.length <= max;
}

function isWhole(value: unknown, min: number, max: number): boolean {
  return Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max;
}

function isList(value: unknown, min: number, max: number): value is unknown[] {
  return Array.isArray(value) && value.length >= min && value.length <= max;
}

function isSet(value: unknown, min: number, max: number, isRight: (one: unknown) => boolean): boolean {
  return isList(value, min, max) && value.every(isRight) && new Set(value).size === value.length;
}
