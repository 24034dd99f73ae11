/* Points in time that callers give: RFC 3339, read to the millisecond. */

const FORM = /^(\d{4}-\d\d-\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;
const RULE = 'must be a time such as 2026-01-31T23:59:59Z or 2026-01-31T23:59:59.123+02:00';
/** What most callers forget, with the text that is left then. */
const OMISSIONS: readonly (readonly [form: RegExp, reason: string])[] = [
  [/^\d{4}-\d\d-\d\d$/, 'the time of the day and its offset are missing'],
  [/^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d([Zz]|[+-]\d\d:?\d\d)?$/, 'the seconds are missing'],
  [/^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d([.,]\d*)?$/, 'the offset is missing: Z is UTC'],
  [/^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d\.\d{10,}/, 'a second has at most nine digits behind its point'],
  [/^\d{4}-\d\d-\d\d /, 'a T stands between the date and the time of the day'],
  [/[+-]\d\d(\d\d)?$/, 'an offset has hours and minutes, such as +02:00'],
  [/^[+-]?\d{5,}-|^-\d/, 'a year has four digits'],
  [/^\d{9,}$/, 'a number of seconds or milliseconds is none'],
];

/** Unix ms, cut to whole milliseconds; NaN if the text is no time with seconds and an offset, or its day does not exist. */
export function momentOf(text: unknown): number {
  const read = typeof text === 'string' ? readMoment(text) : '';
  return typeof read === 'number' ? read : Number.NaN;
}

/** What a value must be that is no time, and why it is none: "must be …". */
export function momentRule(value: unknown): string {
  return typeof value === 'string' ? RULE + momentFault(value) : `${RULE}, as a text`;
}

/** Why a text is no time, as the end of a message: `: the seconds are missing`; or nothing. */
export function momentFault(text: string): string {
  const read = readMoment(text);
  return typeof read === 'number' || read === '' ? '' : `: ${read}`;
}

/** @returns why it is no time, if it is none: empty, if that is unknown */
function readMoment(text: string): number | string {
  const [, date = '', hour, minute, second, fraction = '', sign, offsetHour = 0, offsetMinute = 0] =
    FORM.exec(text) ?? [];
  if (date === '') return OMISSIONS.find(([form]) => form.test(text))?.[1] ?? '';
  if (Number(hour) > 23) return 'an hour is 00 to 23';
  if (Number(minute) > 59 || Number(offsetMinute) > 59) return 'a minute is 00 to 59';
  if (Number(second) > 59) return 'a second is 00 to 59';
  if (Number(offsetHour) > 23) return 'the hours of an offset are 00 to 23';
  const dayMs = Date.parse(`${date}T00:00:00Z`);
  // `Date` takes February 30 for a day of March.
  if (Number.isNaN(dayMs) || !new Date(dayMs).toISOString().startsWith(date))
    return `there is no day ${date}`;
  const ofDayS = (Number(hour) * 60 + Number(minute)) * 60 + Number(second);
  const offsetS = (Number(offsetHour) * 60 + Number(offsetMinute)) * 60;
  const ms = Number(fraction.slice(0, 3).padEnd(3, '0'));
  return dayMs + (ofDayS - (sign === '-' ? -offsetS : offsetS)) * 1_000 + ms;
}
