import { jsonOfData } from '../../contract/json/stored-json.js';
import { PLAIN_JSON } from '../../domain/content-type.js';
import { isoTime } from '../../domain/iso-time.js';
import { DATA_TEXT, withLogData } from '../core/log-data.js';

/** Where lua/modules/leases/acknowledge.lua stores the content type of a result; its text is in `DATA_TEXT`. */
const RESULT_TYPE = 'rtype';

type Facts = Readonly<Record<string, unknown>>;

/** The details of an event as listeners get them. JSON that is stored as text becomes a value. */
export function readFacts(name: string, stored: Facts): Facts {
  if (name === 'log') return withLogData(stored);
  return name === 'acked' ? withResult(stored) : withTimes(stored);
}

/** Scripts store times in Unix ms. */
function withTimes({ due, revoked_at, ...rest }: Facts): Facts {
  return {
    ...rest,
    ...(typeof due === 'number' ? { due_at: isoTime(due) } : {}),
    ...(typeof revoked_at === 'number' ? { revoked_at: isoTime(revoked_at) } : {}),
  };
}

/** The result has the form that it has in the answer to a look at the job. */
function withResult(stored: Facts): Facts {
  const { [DATA_TEXT]: text, [RESULT_TYPE]: type, ...rest } = stored;
  if (typeof text !== 'string') return stored;
  const contentType = typeof type === 'string' ? type : PLAIN_JSON;
  const found = jsonOfData(Buffer.from(text), contentType);
  // The holder of the lease has called bytes JSON that are none.
  if (found === undefined) return { ...rest, result_omitted: true };
  return { ...rest, result: { data: found.value, content_type: contentType } };
}
