import { type Command, InvalidArgumentError, Option } from 'commander';
import { type DeclaredField, type FieldsClass, fieldsOf } from '#src/contract/fields/field';
import { camelOf, type Shown } from '#src/contract/fields/wire';
import { duration, integer, list, pairs } from './parse.js';

/** What a flag says otherwise than its field. */
export interface FlagText {
  /** Its name and value: `--tag <tags>`. */
  readonly flag?: string;
  readonly about?: string;
}

type Parser = (text: string, before?: never) => unknown;

/** The flags of a command that set fields of a request. Name, kind, bounds and meaning are those of the fields. */
export class FieldFlags<T extends object, K extends keyof T & string> {
  private readonly options: readonly (readonly [name: string, option: Option])[];

  constructor(of: FieldsClass<T>, flags: { readonly [N in K]: FlagText }) {
    this.options = Object.entries<FlagText>(flags).map(([name, text]) => [name, flagOf(of, name, text)]);
  }

  addTo(command: Command): Command {
    for (const [, option] of this.options) command.addOption(option);
    return command;
  }

  /** The fields that were given, by their names in the client. */
  given(options: object): Partial<Shown<Pick<T, K>>> {
    const values = options as Readonly<Record<string, unknown>>;
    const fields = this.options.flatMap(([name, option]) => {
      const value = values[option.attributeName()];
      return value === undefined ? [] : [[camelOf(name), value]];
    });
    return Object.fromEntries(fields) as Partial<Shown<Pick<T, K>>>;
  }
}

/** The flag of a field: `ttl_ms` is `--ttl <time>`. It refuses values that break the rule of the field. */
export function flagOf<T extends object>(of: FieldsClass<T>, name: string, text: FlagText = {}): Option {
  const field = fieldsOf(of).get(name) as DeclaredField;
  const short = name.replace(/_ms$/, '').replaceAll('_', '-');
  const { value, hint, parse } = kindOf(name, field);
  const { flag = `--${short}${value === '' ? '' : ` <${value}>`}`, about = aboutOf(field) + hint } = text;
  const option = new Option(flag, about);
  if (value === '') return option;
  return option.argParser((given, before: unknown) => {
    const read = parse(given, before as never);
    if (field.isRight(read)) return read;
    throw new InvalidArgumentError(`It ${field.ruleFor?.(read) ?? field.rule}.`);
  });
}

/** How values of a kind are written and read; without a value, it is true. */
interface Kind {
  readonly value: string;
  /** What help texts say behind the meaning. */
  readonly hint: string;
  readonly parse: Parser;
}

function kindOf(name: string, { text, schema, isMoment }: DeclaredField): Kind {
  const { type, minimum, maximum } = schema as { type?: string; minimum?: number; maximum?: number };
  if (text === 'boolean') return { value: '', hint: '', parse: Boolean };
  if (name.endsWith('_ms')) return { value: 'time', hint: ' (30s, 5m, 1h)', parse: duration };
  if (text === 'number')
    return { value: 'n', hint: ` (${String(minimum)} to ${String(maximum)})`, parse: integer };
  if (type === 'array') return { value: 'list', hint: ' (separated by commas)', parse: list };
  if (type === 'object') return { value: 'name=value', hint: ' (may be given again)', parse: pairs };
  if (isMoment === true) return { value: 'time', hint: ' (2026-11-01T00:00:00Z)', parse: String };
  return { value: name.replaceAll('_', '-'), hint: '', parse: String };
}

/** The meaning of a field as help texts have it: its first sentence, in lower case, without marks. */
function aboutOf({ about }: DeclaredField): string {
  const [first = ''] = about.replace(/^True(?::|, instead of .*?:) /, '').split(/\. |\.$/);
  return first.charAt(0).toLowerCase() + first.slice(1).replaceAll('`', '');
}
