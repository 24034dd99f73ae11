import { duration } from './format.js';
import type { Recurring } from './types.js';

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday', 'Sunday'];
const SHORT: Readonly<Record<string, number>> = { SUN: 0, MON: 1, TUE: 2, WED: 3, THU: 4, FRI: 5, SAT: 6 };
const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
];
const NICKNAMES: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
};

/** A schedule as a sentence. A cron expression beyond the common forms stays as it is written. */
export function sentenceOf({ every_ms, cron, tz, jitter_ms = 0 }: Recurring['schedule']): string {
  const jitter = jitter_ms > 0 ? `, up to ${duration(jitter_ms)} later` : '';
  if (every_ms !== undefined) return `every ${duration(every_ms)}`;
  const text = cron ?? '';
  return `${cronSentence(text) ?? `by cron ${text}`}${tz === undefined ? '' : `, ${tz} time`}${jitter}`;
}

/** Undefined for a form that has no sentence. */
export function cronSentence(expression: string): string | undefined {
  const fields = (NICKNAMES[expression.toLowerCase()] ?? expression).trim().split(/\s+/);
  if (fields.length !== 5) return undefined;
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = fields;
  const time = timeOf(minute, hour);
  const on = dayOf(day, month, weekday);
  if (time === undefined || on === undefined) return undefined;
  return on === '' ? time : `${time} ${on}`;
}

const pad = (value: string): string => value.padStart(2, '0');
const isWhole = (text: string): boolean => /^\d{1,2}$/.test(text);

function timeOf(minute: string, hour: string): string | undefined {
  const step = /^\*\/(\d+)$/;
  if (minute === '*' && hour === '*') return 'every minute';
  const minutes = step.exec(minute)?.[1];
  if (minutes !== undefined && hour === '*') return `every ${minutes} minutes`;
  if (!isWhole(minute)) return undefined;
  if (hour === '*') return minute === '0' ? 'every hour' : `every hour at minute ${minute}`;
  const hours = step.exec(hour)?.[1];
  if (hours !== undefined) return `every ${hours} hours at minute ${minute}`;
  const list = hour.split(',');
  if (!list.every(isWhole)) return undefined;
  return `at ${list.map((one) => `${pad(one)}:${pad(minute)}`).join(' and ')}`;
}

function dayOf(day: string, month: string, weekday: string): string | undefined {
  if (month === '*' && day === '*' && weekday === '*') return '';
  if (month === '*' && day === '*') return weekdaysOf(weekday);
  if (weekday !== '*' || !(isWhole(day) || day === 'L')) return undefined;
  const name = day === 'L' ? 'the last day' : `day ${day}`;
  if (month === '*') return `on ${name} of each month`;
  const of = isWhole(month) ? MONTHS[Number(month) - 1] : undefined;
  return of === undefined ? undefined : `on ${name} of ${of}`;
}

function weekdaysOf(text: string): string | undefined {
  const number = (one: string): number =>
    SHORT[one.toUpperCase()] ?? (/^[0-7]$/.test(one) ? Number(one) : -1);
  const range = text.split('-');
  if (range.length === 2) {
    const [from = '', to = ''] = range.map((one) => DAYS[number(one)]);
    if (from === '' || to === '') return undefined;
    return from === 'Monday' && to === 'Friday' ? 'on weekdays' : `from ${from} to ${to}`;
  }
  const names = text.split(',').map((one) => DAYS[number(one)]);
  return names.every((one) => one !== undefined) ? `on ${names.join(' and ')}` : undefined;
}
