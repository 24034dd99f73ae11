import type { JobEvent } from '../../domain/job/job-event.js';
import { bytesAt, integerAt } from '../../redis/scripts/script.js';
import { decodeId } from '../core/ids.js';
import { readFacts } from './facts.js';

/** Number of values per entry in the reply of lua/commands/simple/read_events.lua: its id and fields. */
const PARTS = 7;

/** One read of a namespace's stream. */
export interface Page {
  /** The position of the newest entry; empty if there is no stream. */
  readonly newest: string;
  /** Entries after the requested position have been trimmed. */
  readonly hasGap: boolean;
  /** Where the next page begins: the position of the last entry, or the requested one if there was none. */
  readonly place: string;
  /** Number of entries, including those that are not events. */
  readonly size: number;
  readonly events: readonly JobEvent[];
}

/** Decodes the script's reply to a read of the entries after a position. */
export function pageOf(reply: readonly (number | Buffer)[], after: string): Page {
  const events: JobEvent[] = [];
  let place = after;
  let size = 0;
  for (let at = 2; at + PARTS <= reply.length; at += PARTS) {
    const text = (part: number): string => bytesAt(reply, at + part).toString();
    place = text(0);
    size++;
    // The first entry of a stream is not an event.
    if (text(1) === '') continue;
    const id = bytesAt(reply, at + 3);
    events.push({
      place,
      name: text(1),
      queue: text(2),
      id: id.length === 0 ? '' : decodeId(id),
      type: text(4),
      tags: tagsOf(text(5)),
      facts: readFacts(text(1), factsOf(text(6))),
    });
  }
  return { newest: bytesAt(reply, 0).toString(), hasGap: integerAt(reply, 1) === 1, place, size, events };
}

/** Lua encodes an empty table as an object in JSON. */
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

/** Returns undefined for invalid JSON: an event without its details is better than none. */
function parsed(json: string): unknown {
  if (json === '') return undefined;
  try {
    return JSON.parse(json) as unknown;
  } catch {
    return undefined;
  }
}
