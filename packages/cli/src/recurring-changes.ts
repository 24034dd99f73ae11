import { isDeepStrictEqual } from 'node:util';
import type { RecurringFields, RecurringJob } from '@pumphouse/client';
import { BYTES, PLAIN_JSON } from '#src/domain/content-type';
import { MAX_CATCH_UP } from '#src/domain/limits';
import { momentOf } from '#src/domain/moment';
import { pushUrlOf, withPushUrl } from '#src/domain/push-url';

type Fields = Readonly<Record<string, unknown>>;

/** Values of these fields belong to the user: the names in them stay as they are. */
const OPAQUE = new Set(['data', 'attributes']);

/** Whether two answers about a recurring job differ only in what changes by itself. */
export function isSame(before: RecurringJob, after: RecurringJob): boolean {
  return isDeepStrictEqual(settingsOf(before), settingsOf(after));
}

/**
 * Whether a recurring job is already what PUT with these fields would make of it. False if an answer cannot tell: of
 * servers before 0.2.0 for `offset_ms`, and of bytes that are JSON.
 *
 * @param fields in the words of the API
 */
export function isUnchanged(fields: RecurringFields, stored: RecurringJob): boolean {
  // As it is sent: times are texts.
  const wanted = camelCase(JSON.parse(JSON.stringify(fields))) as Fields;
  const { schedule, job, maxCatchUp, backlog, catchUpMs, overlap, paused, note, ...unknown } = wanted;
  // What is left out stays as it is.
  const isPaused = paused ?? /* guard: dry-run-keeps-the-pause */ stored.paused;
  const kept = paused === undefined ? stored.note : null;
  const settings = {
    schedule: scheduleOf(objectOf(schedule)),
    job: templateOf(objectOf(job)),
    maxCatchUp: maxCatchUp ?? catchUpOf(backlog),
    catchUpMs: catchUpMs ?? null,
    overlap: overlap ?? /* guard: dry-run-knows-the-defaults */ 'allow',
    paused: isPaused,
    note: isPaused === true ? (note === undefined ? kept : note) : null,
    ...unknown,
  };
  return isDeepStrictEqual(settings, settingsOf(stored));
}

function settingsOf({ schedule, job, maxCatchUp, catchUpMs, overlap, paused, note }: RecurringJob): object {
  return {
    ...{ maxCatchUp, catchUpMs, overlap, paused, note },
    schedule: scheduleOf({ ...schedule }),
    job: templateOf(job),
  };
}

/** `backlog` is the old name of `max_catch_up`, in which 0 means as many as possible. */
function catchUpOf(backlog: unknown): unknown {
  if (backlog === undefined) return 1;
  return typeof backlog === 'number' ? Math.min(backlog || MAX_CATCH_UP, MAX_CATCH_UP) : backlog;
}

function scheduleOf({ firstAt, offsetMs, startAt, endAt, ...fields }: Fields): object {
  if ('cron' in fields)
    return defined({ jitterMs: 0, ...fields, startAt: timeOf(startAt), endAt: timeOf(endAt) });
  // The first slot of a schedule with an offset is that of the time when it was stored.
  if (offsetMs !== undefined || firstAt === undefined)
    // guard: dry-run-compares-the-offset
    return { ...fields, offsetMs: offsetMs ?? 0 };
  return { ...fields, firstAt: timeOf(firstAt) };
}

function templateOf({ data, dataBase64, contentType, unique, push, ...fields }: Fields): object {
  const isBytes = dataBase64 !== undefined || data instanceof Uint8Array;
  const payload = data instanceof Uint8Array ? Buffer.from(data).toString('base64') : (dataBase64 ?? data);
  return defined({
    ...withPush(fields, push),
    ...{ isBytes, data: payload ?? null, contentType: contentType ?? (isBytes ? BYTES : PLAIN_JSON) },
    unique: unique === undefined ? undefined : { mode: 'existing', windowMs: 0, ...objectOf(unique) },
  });
}

/** An answer has the URL among the attributes. */
function withPush(fields: Fields, push: unknown): Fields {
  const { url } = objectOf(push);
  const target = typeof url === 'string' ? pushUrlOf(url) : null;
  if (target === null) return push === undefined ? fields : { ...fields, push };
  return { ...fields, ...withPushUrl(target, fields) };
}

function timeOf(moment: unknown): unknown {
  return typeof moment === 'string' ? momentOf(moment) : moment;
}

function objectOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}

function defined(fields: Fields): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

/** `every_ms` → `everyMs`: the client shows answers so. */
function camelCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camelCase);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]: [string, unknown]) => [
      name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      OPAQUE.has(name) ? field : camelCase(field),
    ]),
  );
}
