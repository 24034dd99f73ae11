/* Points in time as the server reads them: RFC 3339, with seconds and an offset. This package has nothing of the server. */

const HOUR_AND_MINUTE = '(?:[01]\\d|2[0-3]):[0-5]\\d';
const FORM = new RegExp(
  `^(\\d{4}-\\d\\d-\\d\\d)T(${HOUR_AND_MINUTE}:[0-5]\\d)(?:\\.(\\d{1,9}))?(Z|[+-]${HOUR_AND_MINUTE})$`,
  'i',
);
/** What a text must be that the server takes as a time. */
export const MOMENT_RULE = 'must be a time such as 2026-01-31T23:59:59Z or 2026-01-31T23:59:59.123+02:00';

/** Unix ms, cut to whole milliseconds; NaN for what the server refuses. */
export function momentOf(time: Date | string): number {
  if (typeof time !== 'string') return time.getTime();
  const [, day = '', clock = '', fraction = '', offset = ''] = FORM.exec(time) ?? [];
  const midnight = new Date(`${day}T00:00:00Z`);
  // `Date` takes February 30 for a day of March.
  if (Number.isNaN(midnight.getTime()) || !midnight.toISOString().startsWith(day)) return Number.NaN;
  return Date.parse(`${day}T${clock}.${fraction.slice(0, 3).padEnd(3, '0')}${offset.toUpperCase()}`);
}
