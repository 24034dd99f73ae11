import { type Command, InvalidArgumentError, Option } from 'commander';
import { type DeclaredField, type FieldsClass, fieldsOf } from '#src/contract/fields/field';
import { camelOf, type Shown } from '#src/contract/fields/wire';
import { duration, durationText, integer, jsonValue, list, pairs, real } from './parse.js';

/** What a flag says otherwise than its field. */
export interface FlagText {
  /** Its name and value: `--tag <tags>`. */
  readonly flag?: string;
  readonly about?: string;
  /** How its text is read. */
  readonly parse?: Parser;
}

/** What flags of job options say otherwise than their fields. */
export const JOB_TEXTS: Readonly<Record<string, FlagText>> = {
  tags: { flag: '--tag <tags>' },
  attributes: { flag: '--attribute <name=value>' },
  content_type: { about: 'the type of data that is not JSON: text/plain, image/png' },
  'push.url': { flag: '--push-url <url>' },
  'retry.kind': { about: 'the backoff between attempts' },
};

type Parser = (text: string, before?: never) => unknown;

/** In place of null, of which commander makes an empty text. */
const NONE = Symbol('null');

/** A flag, and the field of the request that it sets. */
interface FieldFlag {
  /** Names of the field, from the outside to the inside: `['retry', 'delay_ms']`. */
  readonly path: readonly string[];
  readonly option: Option;
}

/** A field that needs another one beside it. */
interface Need {
  readonly part: string;
  readonly flag: FieldFlag;
}

/**
 * The flags of a command that set the fields of a request: one for each field of the class. Name, kind, bounds and
 * meaning are those of the field. An object has a flag for each of its fields: `--retry-delay` sets `retry.delay_ms`, and
 * the flag of its required field has the name of the object, `--retry` for `retry.kind`.
 */
export class FieldFlags<T extends object> {
  private readonly flags: FieldFlag[] = [];
  private readonly needs: Need[] = [];

  /**
   * @param texts by field, in an object by the name of the object and the field: `unique.mode`
   * @param prefix stands before each name: `where_` makes `--where-queue`
   */
  constructor(
    of: FieldsClass<T>,
    texts: Readonly<Record<string, FlagText>> = {},
    private readonly prefix = '',
  ) {
    for (const [name, field] of fieldsOf(of)) {
      if (field.of === undefined || field.maxItems !== undefined || texts[name]?.parse !== undefined)
        this.flags.push({ path: [name], option: flagOf(of, name, texts[name], `${prefix}${name}`) });
      else this.addPart(name, field.of(), texts);
    }
  }

  addTo(command: Command): Command {
    for (const { option } of this.flags) command.addOption(option);
    return command.hook('preAction', (_command, action) => {
      if (action !== command) return;
      const options = command.opts();
      for (const { part, flag } of this.needs) {
        const given = this.flags.find(({ path, option }) => path[0] === part && isGiven(option, options));
        if (given !== undefined && !isGiven(flag.option, options))
          command.error(`error: --${given.option.name()} needs ${flag.option.flags}`);
      }
    });
  }

  /** The fields that were given, by their names in the client. */
  given(options: object): Partial<Shown<T>> {
    const values = options as Readonly<Record<string, unknown>>;
    const fields: Record<string, unknown> = {};
    for (const { path, option } of this.flags) {
      const value = values[option.attributeName()];
      const [name = '', inside] = path.map(camelOf);
      if (value === undefined) continue;
      const one = value === NONE ? null : value;
      fields[name] = inside === undefined ? one : { ...(fields[name] as object), [inside]: one };
    }
    return fields as Partial<Shown<T>>;
  }

  private addPart(part: string, of: FieldsClass, texts: Readonly<Record<string, FlagText>>): void {
    const fields = [...fieldsOf(of)];
    const first = fields.find(([, { isOptional }]) => !isOptional)?.[0];
    for (const [name] of fields) {
      const text = texts[`${part}.${name}`] ?? {};
      const flag = {
        path: [part, name],
        option: flagOf(of, name, text, this.prefix + (name === first ? part : `${part}_${name}`)),
      };
      this.flags.push(flag);
      if (name === first) this.needs.push({ part, flag });
    }
  }
}

function isGiven(option: Option, options: Readonly<Record<string, unknown>>): boolean {
  return options[option.attributeName()] !== undefined;
}

/**
 * The flag of a field: `ttl_ms` is `--ttl <time>`. It refuses values that break the rule of the field.
 *
 * @param named the name that the flag is made of, if it is not that of the field
 */
export function flagOf<T extends object>(
  of: FieldsClass<T>,
  name: string,
  text: FlagText = {},
  named = name,
): Option {
  const field = fieldsOf(of).get(name) as DeclaredField;
  const { value, hint, parse: usual, choices } = kindOf(name, field);
  const { flag = `--${flagName(named)}${value === '' ? '' : ` <${value}>`}`, parse = usual } = text;
  const option = new Option(flag, text.about ?? aboutOf(of, field) + hint);
  if (value === '') return option;
  option.argParser((given, before: unknown) => checked(name, field, parse(given, before as never)) ?? NONE);
  // Not `choices()`: it would replace the reader.
  if (choices !== undefined) option.argChoices = [...choices];
  return option;
}

/** Reads `failures=3,open=10s` as the fields of a class, by their names in the client. */
export function fieldsIn<T extends object>(of: FieldsClass<T>, text: string): Partial<Shown<T>> {
  const fields = [...fieldsOf(of)];
  const read = list(text).map((one) => {
    const [[given, value] = ['', '']] = Object.entries(pairs(one));
    const [name, field] = fields.find(([known]) => flagName(known) === given) ?? [];
    if (name === undefined || field === undefined)
      throw new InvalidArgumentError(`It must have ${fields.map(([known]) => flagName(known)).join(', ')}.`);
    return [camelOf(name), checked(name, field, kindOf(name, field).parse(value))];
  });
  return Object.fromEntries(read) as Partial<Shown<T>>;
}

/** `max-run` of `max_run_ms`. */
function flagName(field: string): string {
  return field.replace(/_ms$/, '').replaceAll('_', '-');
}

/** With a dot at its end, unless it has a mark there. */
function sentence(text: string): string {
  return /[.?!…]$/.test(text) ? text : `${text}.`;
}

/** How values of a kind are written and read; without a value, it is true. */
interface Kind {
  readonly value: string;
  /** What help texts say behind the meaning. */
  readonly hint: string;
  readonly parse: Parser;
  readonly choices?: readonly string[];
}

/** The parts of a schema that say how a value is written. */
interface Schema {
  readonly type?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly enum?: readonly string[];
  readonly items?: Schema;
}

function kindOf(name: string, { text, schema, isMoment, of }: DeclaredField): Kind {
  const { type, minimum, maximum, enum: choices, items } = schema as Schema;
  const isTime = name.endsWith('_ms');
  if (text === 'boolean') return { value: '', hint: '', parse: Boolean };
  if (type === 'array') {
    const some = items?.enum === undefined ? 'separated by commas' : items.enum.join(', ');
    if (isTime)
      return {
        value: 'times',
        hint: ' (1s,30s,5m)',
        parse: (text) => list(text).map((one) => duration(one)),
      };
    if (items?.type === 'integer')
      return { value: 'list', hint: ` (${some})`, parse: (text) => list(text).map((one) => integer(one)) };
    return { value: 'list', hint: ` (${some})`, parse: list };
  }
  if (isTime) return { value: 'time', hint: ' (30s, 5m, 1h)', parse: duration };
  const range = ` (${String(minimum)} to ${String(maximum)})`;
  if (text === 'number') return { value: 'n', hint: range, parse: type === 'number' ? real : integer };
  if (of !== undefined || type === undefined) return { value: 'json', hint: '', parse: jsonValue };
  if (type === 'object') return { value: 'name=value', hint: ' (may be given again)', parse: pairs };
  if (isMoment === true) return { value: 'time', hint: ' (2026-11-01T00:00:00Z)', parse: String };
  const value = name.split('_').at(-1) ?? name;
  return { value, hint: '', parse: String, ...(choices && { choices }) };
}

function checked(name: string, field: DeclaredField, value: unknown): unknown {
  if (field.isRight(value) || (field.isNullable && value === null)) return value;
  // A shell has no null.
  if (field.isNullable && /* guard: empty-flag-is-null */ value === '') return null;
  throw new InvalidArgumentError(sentence(`It ${ruleOf(name, field, value)}`));
}

/** What a value must be: a time in the form in which flags have it. */
function ruleOf(name: string, { rule, ruleFor, text, schema }: DeclaredField, value: unknown): string {
  const { minimum = 0, maximum } = schema as Schema;
  if (!name.endsWith('_ms') || text !== 'number' || maximum === undefined) return ruleFor?.(value) ?? rule;
  return `must be a time from ${durationText(minimum)} to ${durationText(maximum)}`;
}

/**
 * The meaning of a field as help texts have it: its first sentence, in lower case, without marks. Other fields of the class
 * are named by their flags.
 */
function aboutOf(of: FieldsClass, { about }: DeclaredField): string {
  const [first = ''] = about.replace(/^True(?::|, instead of .*?:) /, '').split(/\. |\.$|; null/);
  const fields = fieldsOf(of);
  const named = first.replaceAll(/`([a-z_]+)`/g, (_, name: string) =>
    fields.has(name) ? `--${flagName(name)}` : name,
  );
  return named.charAt(0).toLowerCase() + named.slice(1).replaceAll('`', '');
}
