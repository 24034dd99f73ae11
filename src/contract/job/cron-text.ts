import { similarName } from '../../domain/similar-name.js';

/* What is wrong with the text of a cron expression, and with the name of a time zone. */

interface CronField {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** Names of its values, those of the least value first. */
  readonly names?: readonly string[];
  /** What it may have besides numbers, for people. */
  readonly also?: string;
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const SECOND: CronField = { name: 'second', min: 0, max: 59 };
const DAY_OF_MONTH: CronField = {
  name: 'day of the month',
  min: 1,
  max: 31,
  also: 'L for the last day, 15W for the working day next to the 15th',
};
const DAY_OF_WEEK: CronField = {
  name: 'day of the week',
  min: 0,
  max: 7,
  names: DAYS,
  also: 'fri#2 for the second Friday, friL for the last one',
};
const FIVE: readonly CronField[] = [
  { name: 'minute', min: 0, max: 59 },
  { name: 'hour', min: 0, max: 23 },
  DAY_OF_MONTH,
  { name: 'month', min: 1, max: 12, names: MONTHS },
  DAY_OF_WEEK,
];
const NICKNAMES = ['@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly'];
const COUNT_RULE =
  'must have five fields (minute, hour, day of the month, month, day of the week), or six with the seconds first';
/** Days with W in one expression: each costs the search for a slot a date for each day that it looks at. */
const MAX_NEAREST = 4;
/** Max characters of a part that are repeated. */
const MAX_SHOWN = 40;

/** What a cron expression must be, for people. */
export const CRON_RULE = `${COUNT_RULE}, or be one of ${NICKNAMES.join(', ')}`;

/** The rule that a cron expression breaks, with the field of it and what was given; undefined if it has the right form. */
export function cronProblem(cron: string): string | undefined {
  const text = cron.trim().toLowerCase();
  if (text.startsWith('@')) {
    if (NICKNAMES.includes(text)) return undefined;
    return `must be one of ${NICKNAMES.join(', ')}, or have five or six fields; given: ${shown(text)}`;
  }
  const parts = text === '' ? [] : text.split(/\s+/);
  if (parts.length < 5 || parts.length > 6) {
    const year = parts.length === 7 ? '; there is no field for the year' : '';
    return `${COUNT_RULE}; it has ${parts.length === 0 ? 'none' : String(parts.length)}${year}`;
  }
  const fields = parts.length === 6 ? [SECOND, ...FIVE] : FIVE;
  const problems = fields.flatMap((field, i) => fieldProblem(field, parts[i] ?? '') ?? []);
  return problems.length === 0 ? undefined : `must have ${problems.join('; and ')}`;
}

/** @param part in lower case */
function fieldProblem(field: CronField, part: string): string | undefined {
  const isDayOfMonth = field === DAY_OF_MONTH;
  if (isDayOfMonth && part === 'lw') return undefined;
  // A plus before the day of the week: both days must match, instead of one of them.
  const list = field === DAY_OF_WEEK ? part.replace(/^\+/, '') : part;
  // guard: cron-few-nearest-days
  if (isDayOfMonth && list.split(',').filter((one) => one.endsWith('w')).length > MAX_NEAREST)
    return `at most ${String(MAX_NEAREST)} days of the month with W; given: ${shown(part)}`;
  for (const one of list.replaceAll('?', '*').split(',')) {
    const problem = isDayOfMonth && one === 'l' ? undefined : elementProblem(field, one);
    if (problem !== undefined) return `${problem}; given: ${shown(part)}`;
  }
  return undefined;
}

/** @param given an element of a list, in lower case */
function elementProblem(field: CronField, given: string): string | undefined {
  if (given === '*') return undefined;
  const [element, nth] = field === DAY_OF_WEEK ? splitNth(given) : [given, undefined];
  if (nth !== undefined && !/^(?:0*[1-5]|l)$/.test(nth))
    return `a number from 1 to 5, or L, behind the # of its ${field.name}`;
  const [range = '', step, ...more] = element.split('/');
  if (more.length > 0) return wanted(field);
  if (range === '*' && step !== undefined) return stepProblem(field, step);
  if (field === DAY_OF_MONTH && step === undefined && /^\d+w$/.test(range))
    return valueProblem(field, range.slice(0, -1));
  const [from = '', to, ...further] = range.split('-');
  if (further.length > 0) return wanted(field);
  if (to === undefined) {
    const problem = valueProblem(field, from);
    if (problem !== undefined || step === undefined) return problem;
    return `a step of its ${field.name} behind a * or a range, such as ${from}-${String(field.max)}/${step}`;
  }
  const problem = valueProblem(field, from) ?? valueProblem(field, to, true);
  if (problem !== undefined) return problem;
  const [low, high] = [valueOf(field, from), valueOf(field, to, true)];
  if (low > high) return `a range of its ${field.name} that goes up, such as ${turned(field, low, high)}`;
  return step === undefined ? undefined : stepProblem(field, step);
}

/** `fri#2` and `fril`: a weekday of the month. */
function splitNth(element: string): readonly [string, string | undefined] {
  const at = element.indexOf('#');
  if (at >= 0) return [element.slice(0, at), element.slice(at + 1)];
  return element.endsWith('l') && element.length > 1 ? [element.slice(0, -1), 'l'] : [element, undefined];
}

function stepProblem(field: CronField, step: string): string | undefined {
  const most = field === DAY_OF_WEEK ? DAYS.length : field.max - field.min + 1;
  const isRight = /^\d+$/.test(step) && Number(step) >= 1 && Number(step) <= most;
  return isRight ? undefined : `a step of its ${field.name} from 1 to ${String(most)}`;
}

function valueProblem(field: CronField, text: string, isEnd = false): string | undefined {
  const value = valueOf(field, text, isEnd);
  return value >= field.min && value <= field.max ? undefined : wanted(field);
}

/** A number or a name; NaN if it is neither. @param isEnd of a range: there Sunday is 7 */
function valueOf({ min, names = [] }: CronField, text: string, isEnd = false): number {
  if (/^\d+$/.test(text)) return Number(text);
  const at = names.indexOf(text);
  if (at === -1) return Number.NaN;
  return isEnd && names === DAYS && at === 0 ? DAYS.length : at + min;
}

function wanted({ name, min, max, names, also }: CronField): string {
  const named = names === undefined ? '' : ` (or ${names[0] ?? ''} to ${names.at(-1) ?? ''})`;
  const values = `${String(min)} to ${String(max)}${named}`;
  const more = also === undefined ? '' : `; or ${also}`;
  return `${withArticle(name)} from ${values}, alone or as in 1,2-5,*/2${more}`;
}

function withArticle(name: string): string {
  return name.startsWith('h') ? `an ${name}` : `a ${name}`;
}

/** Two ranges in the place of one that goes down: `22-23,0-6` of `22-6`. */
function turned({ min, max }: CronField, from: number, to: number): string {
  const last = max === DAYS.length ? DAYS.length - 1 : max;
  const one = (low: number, high: number): string =>
    low === high ? String(low) : `${String(low)}-${String(high)}`;
  return `${one(from, Math.max(from, last))},${one(min, to)}`;
}

function shown(text: string): string {
  return text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
}

/** What a time zone must be, for people. */
export const ZONE_RULE = 'must be the name of a time zone of the IANA database, such as Europe/Berlin or UTC';
const OFFSET = /^(?:utc|gmt)?([+-])(\d{1,2})(?::?(\d\d))?$/i;

/** The rule that the name of a time zone breaks, with the name that may be meant; undefined if there is such a zone. */
export function zoneProblem(name: string): string | undefined {
  try {
    if (!/^[A-Za-z]/.test(name)) throw new RangeError();
    new Intl.DateTimeFormat('en', { timeZone: name });
    return undefined;
  } catch {
    return `${ZONE_RULE}; given: ${shown(name)}${zoneHint(name)}`;
  }
}

function zoneHint(name: string): string {
  const [, sign, hours = '', minutes = '00'] = OFFSET.exec(name) ?? [];
  if (sign === undefined) {
    const known = Intl.supportedValuesOf('timeZone');
    const place = `/${name.trim().toLowerCase().replaceAll(' ', '_')}`;
    const meant = known.find((one) => one.toLowerCase().endsWith(place)) ?? similarName(name, known);
    return meant === undefined ? '' : `; did you mean ${meant}?`;
  }
  const isWhole = minutes === '00' && Number(hours) <= 12;
  // The signs of these names are those of POSIX: west of Greenwich is positive.
  const fixed = `Etc/GMT${sign === '+' ? '-' : '+'}${String(Number(hours))}`;
  return `; an offset is no zone${isWhole ? `: ${fixed} has it all year` : ''}`;
}
