import type { Caller } from '../domain/caller.js';
import type { JobEvent } from '../domain/job/job-event.js';
import type { Engines } from '../engine/engines.js';
import { isRestricted, withholdingOf } from '../http/sight.js';

/** Details of events that have no data of a job. What is not here may have some: messages, logged data, results. */
const PLAIN_FACTS: ReadonlySet<string> = new Set([
  ...['attempt', 'charged', 'delay_ms', 'due_at', 'fields', 'forced', 'from', 'group'],
  ...['jobs_at_hand', 'late', 'name', 'open_until', 'operation', 'origin', 'queue', 'reason'],
  ...['recurring', 'replaces', 'result_omitted', 'returned', 'revoked_at', 'skipped', 'target'],
  ...['tracked', 'variable', 'worker'],
]);

/** What a client may see of events; a promise if a queue must be asked for. Does not reject. */
export type EventSight = (events: readonly JobEvent[]) => readonly JobEvent[] | Promise<readonly JobEvent[]>;

/** Undefined: all of them. */
export function eventSightOf(caller: Caller, engines: Engines): EventSight | undefined {
  // guard: viewers-see-no-data-in-events
  if (caller.actor?.role === 'viewer') return (events) => events.map(withoutData);
  if (!isRestricted(caller)) return undefined;
  return (events) => {
    const queues = [...new Set(events.filter(hasData).map(({ queue }) => queue))];
    if (queues.length === 0) return events;
    // While the settings cannot be read, all queues may withhold data.
    return withholdingOf(caller, engines, queues).then(
      (withholding) =>
        events.map((one) =>
          /* guard: redacting-queues-send-no-data */ withholding.includes(one.queue) ? withoutData(one) : one,
        ),
      () => events.map(withoutData),
    );
  };
}

function hasData({ facts }: JobEvent): boolean {
  return Object.keys(facts).some((name) => !PLAIN_FACTS.has(name));
}

/** `withheld` names what is left out. */
function withoutData(event: JobEvent): JobEvent {
  if (!hasData(event)) return event;
  const shown = Object.entries(event.facts).filter(([name]) => PLAIN_FACTS.has(name));
  const withheld = Object.keys(event.facts).filter((name) => !PLAIN_FACTS.has(name));
  return { ...event, facts: { ...Object.fromEntries(shown), withheld } };
}
