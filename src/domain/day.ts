/* Days of statistics: counted from 1970-01-01, UTC; as text, `2026-11-21`. */

const DAY_MS = 86_400_000;
const DAY = /^\d{4}-\d{2}-\d{2}$/;

/** @returns undefined if the day does not exist */
export function dayOf(text: string): number | undefined {
  const day = DAY.test(text) ? Date.parse(`${text}T00:00:00Z`) / DAY_MS : Number.NaN;
  // `Date` takes February 30 as a day of March: compare the text.
  return Number.isInteger(day) && dayText(day) === text ? day : undefined;
}

export function dayText(day: number): string {
  return new Date(day * DAY_MS).toISOString().slice(0, 10);
}
