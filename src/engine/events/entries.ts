import type { JobEvent } from '../../domain/job-event.js';
import { bytesAt, integerAt } from '../../redis/scripts/script.js';
import { decodeId } from '../ids.js';
import { withLogData } from '../log-data.js';

/** Id and fields of an entry in the reply of lua/scripts/listen.lua. */
const PARTS = 7;

/** One look at a namespace's stream. */
export interface Page {
  /** The place of the newest entry; empty if there is no stream. */
  readonly newest: string;
  /** What came next after the place that was asked for is there no more. */
  readonly hasGap: boolean;
  /** Where the next page begins: the last entry's place, or what was asked for if there was none. */
  readonly place: string;
  /** How many entries it has, those included that are no events. */
  readonly size: number;
  readonly events: readonly JobEvent[];
}

/** What the script answered to a question for what comes after a place. */
export function pageOf(reply: readonly (number | Buffer)[], after: string): Page {
  const events: JobEvent[] = [];
  let place = after;
  let size = 0;
  for (let at = 2; at + PARTS <= reply.length; at += PARTS) {
    const text = (part: number): string => bytesAt(reply, at + part).toString();
    place = text(0);
    size++;
    // The first entry of a stream is no event.
    if (text(1) === '') continue;
    const id = bytesAt(reply, at + 3);
    events.push({
      place,
      name: text(1),
      queue: text(2),
      id: id.length === 0 ? '' : decodeId(id),
      type: text(4),
      tags: tagsOf(text(5)),
      facts: text(1) === 'log' ? withLogData(factsOf(text(6))) : factsOf(text(6)),
    });
  }
  return { newest: bytesAt(reply, 0).toString(), hasGap: integerAt(reply, 1) === 1, place, size, events };
}

/** An empty table of Lua's is an object in JSON. */
function tagsOf(json: string): string[] {
  const value = parsed(json);
  return Array.isArray(value) ? value.map(String) : [];
}

function factsOf(json: string): Record<string, unknown> {
  const value = parsed(json);
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};
}

/** What cannot be read is left out: an event without its facts is better than none. */
function parsed(json: string): unknown {
  if (json === '') return undefined;
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}
