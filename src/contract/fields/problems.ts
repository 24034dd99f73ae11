import { QueueError } from '../../domain/errors.js';
import { didYouMean } from '../../domain/similar-name.js';

/**
 * Maximum number of listed problems: a mistake that is repeated a thousand times need not be listed a thousand times.
 */
export const MOST_PROBLEMS = 20;
/** Max names of known fields in a rule. */
const MOST_NAMES = 10;
/** Max characters of an unknown field name echoed back. */
const SHOWN_CHARACTERS = 40;

/** A problem with one field of a request. */
export interface FieldProblem {
  /** Its path, such as `acks[3].id`; empty for the whole body. */
  readonly field: string;
  /** What it must be. */
  readonly rule: string;
}

/** A request with invalid fields. Nothing was done. */
export class InputError extends QueueError {
  constructor(readonly problems: readonly FieldProblem[]) {
    super('invalid_argument', summaryOf(problems));
  }
}

/** An argument of a call of the engine that breaks a rule. The name of its field is the one inside. Nothing was done. */
export class ArgumentError extends QueueError {
  constructor(
    readonly field: string,
    readonly rule: string,
  ) {
    super('invalid_argument', `${field} ${rule}`);
  }
}

/** A header of a request that breaks a rule. Nothing was done. */
export class HeaderError extends QueueError {
  /** @param message what the API of lmstfy answers */
  constructor(
    readonly header: string,
    readonly rule: string,
    message = `${header} ${rule}`,
  ) {
    super('invalid_argument', message);
  }
}

/** The first problem, and how many others there are. */
export function summaryOf([first, ...others]: readonly FieldProblem[]): string {
  const where = first === undefined || first.field === '' ? 'body' : first.field;
  const more = others.length === 0 ? '' : ` (and ${String(others.length)} more)`;
  return `${where}: ${first?.rule ?? 'invalid'}${more}`;
}

/** Collects the problems of a request, to report them all at once. */
export class Problems {
  private readonly list: FieldProblem[] = [];

  get isFull(): boolean {
    return this.list.length >= MOST_PROBLEMS;
  }

  isEmpty(): boolean {
    return this.list.length === 0;
  }

  addAll({ list }: Problems): void {
    for (const { field, rule } of list) this.add(field, rule);
  }

  add(field: string, rule: string): void {
    if (!this.isFull) this.list.push({ field, rule });
  }

  /** @throws {InputError} if there are problems */
  settle(): void {
    if (this.list.length > 0) throw new InputError(this.list);
  }
}

/** The problem of an unknown field, with the known one that may be meant. */
export function unknownField(name: string, known: Iterable<string>): FieldProblem {
  const field = name.slice(0, SHOWN_CHARACTERS);
  const names = [...known];
  const similar = didYouMean(field, names);
  const isShort = names.length > 0 && names.length <= MOST_NAMES;
  return { field, rule: `unknown field${similar || (isShort ? `; known: ${names.join(', ')}` : '')}` };
}

/** The names of the fields of an object; of many the first ones. */
export function knownNames(known: Iterable<string>): string {
  const names = [...known];
  return names.length > MOST_NAMES ? `${names.slice(0, MOST_NAMES).join(', ')} and others` : names.join(', ');
}
