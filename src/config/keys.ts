import { IsOptional, ValidateBy, ValidateNested } from 'class-validator';
import { redisUrlProblem } from '../domain/redis-url.js';

/** A class whose decorated properties are configuration keys, and whose initial values are the defaults. */
export type KeyClass = new () => object;

/** Kind of a key: determines how text from the environment is parsed, and how layers are merged. */
export type Kind =
  /** The rule is for people: "must be …". */
  | { readonly type: 'number' | 'boolean' | 'text' | 'list'; readonly rule: string }
  | { readonly type: 'section'; readonly of: KeyClass }
  /** Names chosen by the operator, with sections under them; with `orText` also texts (accounts). */
  | { readonly type: 'named'; readonly of: KeyClass; readonly rule: string; readonly orText: boolean };

const DECLARED = new Map<object, Map<string, Kind>>();

/** The keys of a configuration class, including those of its base classes. */
export function keysOf({ prototype }: KeyClass): ReadonlyMap<string, Kind> {
  const keys = new Map<string, Kind>();
  for (
    let level = prototype as object | null;
    level !== null;
    level = Object.getPrototypeOf(level) as object | null
  ) {
    for (const [key, kind] of DECLARED.get(level) ?? []) keys.set(key, kind);
  }
  return keys;
}

function key(kind: Kind, ...decorators: readonly PropertyDecorator[]): PropertyDecorator {
  return (prototype, name) => {
    const keys = DECLARED.get(prototype) ?? new Map<string, Kind>();
    DECLARED.set(prototype, keys.set(String(name), kind));
    for (const decorate of decorators) decorate(prototype, name);
  };
}

/** One message per key, which never contains its value: it may be a secret. */
function check(message: string, isRight: (value: unknown) => boolean): PropertyDecorator {
  return ValidateBy({ name: 'value', validator: { validate: isRight, defaultMessage: () => message } });
}

/** The key may be omitted. */
export const Optional = IsOptional;

export function WholeNumber(min: number, max: number): PropertyDecorator {
  const rule = `must be a whole number from ${min} to ${max}`;
  return key(
    { type: 'number', rule },
    check(rule, (value) => Number.isSafeInteger(value) && Number(value) >= min && Number(value) <= max),
  );
}

export function Flag(): PropertyDecorator {
  const rule = 'must be true or false';
  return key(
    { type: 'boolean', rule },
    check(rule, (value) => typeof value === 'boolean'),
  );
}

/** @param message the rule, for people: "must be …" */
export function Text(
  message = 'must be a non-empty text',
  pattern: Pick<RegExp, 'test'> = /^.+$/s,
): PropertyDecorator {
  return key(
    { type: 'text', rule: message },
    check(message, (value) => typeof value === 'string' && pattern.test(value)),
  );
}

export function OneOf(values: readonly string[]): PropertyDecorator {
  const rule = `must be one of ${values.join(', ')}`;
  return key(
    { type: 'text', rule },
    check(rule, (value) => values.some((one) => one === value)),
  );
}

/** @param also a value that is valid besides URLs */
export function RedisUrl(also?: string): PropertyDecorator {
  const other = also === undefined ? '' : `, or "${also}"`;
  return key(
    { type: 'text', rule: `must be a redis:// or rediss:// URL${other}` },
    ValidateBy({
      name: 'value',
      validator: {
        validate: (value) => value === also || redisUrlProblem(value) === null,
        defaultMessage: (context) => `${redisUrlProblem(context?.value) ?? 'is wrong'}${other}`,
      },
    }),
  );
}

/** @param min minimum number of texts */
export function TextList(message: string, isRight: (text: string) => boolean, min = 1): PropertyDecorator {
  return key(
    { type: 'list', rule: message },
    check(
      message,
      (value) =>
        Array.isArray(value) &&
        value.length >= min &&
        value.every((one) => typeof one === 'string' && isRight(one)),
    ),
  );
}

export function Section(of: KeyClass): PropertyDecorator {
  return key({ type: 'section', of }, ValidateNested());
}

/**
 * Sections under names chosen by the operator. The code that builds them checks their values: class-validator cannot.
 */
export function NamedSections(of: KeyClass, message: string, name: RegExp): PropertyDecorator {
  return key(
    { type: 'named', of, rule: message, orText: false },
    check(message, (value) => Object.keys(Object(value) as object).every((one) => name.test(one))),
  );
}

/** Texts or sections under names chosen by the operator; no text may be empty. Sections likewise. */
export function NamedTextsOrSections(of: KeyClass, message: string, name: RegExp): PropertyDecorator {
  return key(
    { type: 'named', of, rule: message, orText: true },
    check(message, (value) =>
      Object.entries(Object(value) as object).every(
        ([one, entry]) => name.test(one) && (typeof entry === 'string' ? entry !== '' : entry instanceof of),
      ),
    ),
  );
}
