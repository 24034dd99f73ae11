import { rawMembers } from './raw-json.js';

/** Options that a copy has, too. Ids, keys that only one job may have, and times do not come along. */
const COPIED = [
  ...['type', 'tags', 'priority', 'tries', 'retry', 'ttr_ms', 'max_run_ms', 'retention_ms'],
  ...['lease_grace_ms', 'concurrency_key', 'fair_key'],
];
const IDLE = new Set(['null', '[]', '{}']);
/** The attribute in which answers show the URL of a job. A publish refuses it, and takes `push`. */
const PUSH_URL = 'push/url';
/** The type of `data` that is sent without one. */
const PLAIN_JSON = '"application/json"';

/** The options of a copy by name, as JSON. @param raw the members of the job as the server wrote them */
export function copiedOptions(raw: ReadonlyMap<string, string>): Map<string, string> {
  const options = new Map<string, string>();
  for (const name of COPIED) {
    const value = raw.get(name);
    if (value !== undefined && !IDLE.has(value)) options.set(name, value);
  }
  const attributes = rawMembers(raw.get('attributes') ?? 'null');
  const url = attributes.get(PUSH_URL);
  attributes.delete(PUSH_URL);
  const pairs = [...attributes].map(([name, value]) => `${JSON.stringify(name)}:${value}`);
  if (pairs.length > 0) options.set('attributes', `{${pairs.join(',')}}`);
  if (url !== undefined) options.set('push', `{"url":${url}}`);
  const type = raw.get('content_type');
  if (type !== undefined && (type !== PLAIN_JSON || raw.has('data_base64')))
    options.set('content_type', type);
  return options;
}
