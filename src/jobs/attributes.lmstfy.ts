import type { IncomingMessage } from 'node:http';
import { QueueError } from '../domain/errors.js';
import { MAX_ATTRIBUTE_KEY, MAX_ATTRIBUTES, MAX_ATTRIBUTE_VALUE } from '../domain/limits.js';

const PREFIX = 'job-attr-';

/**
 * The attributes that a publish request carries in its headers; undefined if it has none, or does not say
 * `Enable-Job-Version: YES`. Of equal names the first counts; keys and values are cut, empty values left out.
 *
 * @throws {QueueError} `invalid_argument`: more than 16
 */
export function attributesOf({ headers, rawHeaders }: IncomingMessage): Record<string, string> | undefined {
  const enabled = headers['enable-job-version'];
  if (typeof enabled !== 'string' || enabled.toUpperCase() !== 'YES') return undefined;
  // No prototype: a key may be called __proto__.
  const attributes = Object.create(null) as Record<string, string>;
  let count = 0;
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]?.toLowerCase() ?? '';
    if (!name.startsWith(PREFIX)) continue;
    const key = name.slice(PREFIX.length, PREFIX.length + MAX_ATTRIBUTE_KEY);
    const value = cut(rawHeaders[i + 1] ?? '');
    if (value === '' || key in attributes) continue;
    attributes[key] = value;
    count += 1;
  }
  if (count > MAX_ATTRIBUTES) {
    throw new QueueError('invalid_argument', 'too many attributes, cannot exceed 16');
  }
  return count === 0 ? undefined : attributes;
}

/** Node reads header bytes as Latin-1; clients send UTF-8. */
function cut(value: string): string {
  const text = Buffer.from(value, 'latin1').toString('utf8');
  return text.length <= MAX_ATTRIBUTE_VALUE ? text : Array.from(text).slice(0, MAX_ATTRIBUTE_VALUE).join('');
}
