import type { KeptValues, NewExtendedJob } from '../../contract/job/extended-job.js';
import { KeptOptions, PublishFields } from '../../contract/job/options.js';
import type { Stored } from '../../contract/fields/field.js';
import { type StoredField, storedOf } from '../../contract/fields/stored.js';

const OPTIONS: ReadonlyMap<string, StoredField> = new Map(
  storedOf(PublishFields).map((option) => [option.name, option]),
);
const KEPT = storedOf(KeptOptions);

/** What stores a job: see `Stored.path`. Options with a value that means the same as none do not count. */
export function pathOf(job: NewExtendedJob): 'simple' | 'hash' | 'extended' {
  let path: 'simple' | 'hash' = 'simple';
  for (const name in job) {
    const option = OPTIONS.get(name);
    if (option?.path === undefined) continue;
    if (isIdle(option, job[name as keyof NewExtendedJob])) continue;
    if (option.path === 'extended') return 'extended';
    path = 'hash';
  }
  return path;
}

/** The fields of a job's hash that its publish sets, as they are stored. */
export function fieldsOfJob(job: NewExtendedJob): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const name in job) {
    const option = OPTIONS.get(name);
    const value: unknown = job[name as keyof NewExtendedJob];
    // A number is stored also if it means the same as none: the default of the queue may be another.
    if (option?.field === undefined || (isIdle(option, value) && typeof value !== 'number')) continue;
    fields[option.field] = textOf(option, value);
  }
  return fields;
}

/** The kept options of a stored job. @param field reads a field of its hash */
export function keptOptionsOf(field: (name: string) => string | undefined): KeptValues {
  const values: Record<string, unknown> = {};
  for (const option of KEPT) values[option.name] = valueOf(option, field(option.field ?? ''));
  return values as KeptValues;
}

function isIdle({ idle }: Stored, value: unknown): boolean {
  return value === undefined || value === idle || (Array.isArray(value) && value.length === 0);
}

function textOf({ part }: Stored, value: unknown): string {
  if (typeof value === 'string') return value;
  if (Array.isArray(value)) return JSON.stringify([...new Set(value)]);
  if (part === undefined) return JSON.stringify(value);
  return String((value as Readonly<Record<string, unknown>>)[part]);
}

/** The value of a text; null: none, or one that means the same. */
function valueOf({ isNumber, isText, idle }: StoredField, text: string | undefined): unknown {
  if (text === undefined) return null;
  const value: unknown = isNumber ? Number(text) : isText ? text : JSON.parse(text);
  return value === idle ? null : value;
}
