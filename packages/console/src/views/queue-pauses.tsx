import { type Place, v1 } from '../lib/place.js';
import { may } from '../lib/session.js';
import type { JobsPause, Queue } from '../lib/types.js';
import { act } from '../ui/action.jsx';
import { Ago, Table, Text } from '../ui/parts.jsx';

/* Pauses of some jobs of a queue. */

const KINDS = ['type', 'fair_key', 'concurrency_key'] as const;
type Kind = (typeof KINDS)[number];
const NAMES: Readonly<Record<Kind, string>> = {
  type: 'Type',
  fair_key: 'Fair key',
  concurrency_key: 'Concurrency key',
};

/** Which field a pause has, and its value; null = jobs without a type. */
function partOf(pause: JobsPause): readonly [Kind, string | null] {
  const kind = KINDS.find((one) => pause[one] !== undefined) ?? 'type';
  return [kind, pause[kind] ?? null];
}

interface Props {
  readonly place: Place;
  readonly queue: Queue;
  readonly onChange: () => void;
}

export function Pauses({ place, queue: { queue, pauses = [] }, onChange }: Props) {
  if (pauses.length === 0) return null;
  return (
    <section aria-label="Pauses">
      <h2>Paused jobs</h2>
      <Table label="Paused jobs">
        <thead>
          <tr>
            <th scope="col">Jobs</th>
            <th scope="col">Since</th>
            <th scope="col">By</th>
            <th scope="col">Note</th>
            <th scope="col">Ends</th>
            <th scope="col">Action</th>
          </tr>
        </thead>
        <tbody>
          {pauses.map((pause) => {
            const [kind, key] = partOf(pause);
            return (
              <tr key={`${kind} ${key ?? ''}`}>
                <th scope="row">
                  {NAMES[kind]} {key === null ? <span class="dim">no type</span> : <Text>{key}</Text>}
                </th>
                <td>
                  <Ago at={pause.paused_at} />
                </td>
                <td>{pause.paused_by !== null && <Text>{pause.paused_by}</Text>}</td>
                <td>{pause.note !== null && <Text>{pause.note}</Text>}</td>
                <td>
                  <Ago at={pause.ends_at} />
                </td>
                <td>
                  {may('operator') && (
                    <button type="button" onClick={() => resume(place, queue, [kind, key], onChange)}>
                      Resume
                    </button>
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </Table>
    </section>
  );
}

const flagOf = (kind: Kind): string => `--${kind.replaceAll('_', '-')}`;

function resume(
  place: Place,
  queue: string,
  [kind, key]: readonly [Kind, string | null],
  after: () => void,
): void {
  act({
    ...{ title: `Resume jobs of ${queue}`, about: 'These jobs are leased again.', place, after },
    call: () => ({
      method: 'POST',
      path: v1(place, `/queues/${encodeURIComponent(queue)}/resume`),
      body: JSON.stringify({ [kind]: key }),
    }),
    cli: () => ['queue', 'resume', queue, flagOf(kind), key ?? ''],
    done: () => `${queue}: these jobs are resumed.`,
  });
}

const MINUTE_MS = 60_000;

/** Asks which jobs, why and for how long. @param jobs what the form shows at first */
export function pauseSome(
  place: Place,
  queue: string,
  after: () => void,
  [shownKind, shownKey]: readonly [Kind, string] = ['type', ''],
): void {
  const bodyOf = (fields: ReadonlyMap<string, string>): Record<string, unknown> => {
    const textOf = (name: string): string => (fields.get(name) ?? '').trim();
    const [kind, note, minutes] = [textOf('kind'), textOf('note'), textOf('minutes')];
    // A key may begin or end with blanks.
    const key = fields.get('key') ?? '';
    if (key === '' && kind !== 'type') throw new Error(`Name the ${NAMES[kind as Kind].toLowerCase()}.`);
    const forMs = Math.round(Number(minutes) * MINUTE_MS);
    if (minutes !== '' && !(forMs > 0)) throw new Error('Minutes must be a number above 0, or empty.');
    return {
      [kind]: key === '' ? null : key,
      ...(note === '' ? {} : { note }),
      ...(minutes === '' ? {} : { for_ms: forMs }),
    };
  };
  act({
    ...{ title: `Pause jobs of ${queue}`, place, after },
    about: 'These jobs are not leased any more. Publishes and leased jobs continue.',
    form: (
      <>
        <label>
          Jobs with this
          <select name="kind">
            {KINDS.map((kind) => (
              <option key={kind} value={kind} selected={kind === shownKind}>
                {NAMES[kind].toLowerCase()}
              </option>
            ))}
          </select>
        </label>
        <label>
          Name; empty = jobs without a type
          <input name="key" maxLength={255} defaultValue={shownKey} />
        </label>
        <label>
          Note
          <input name="note" maxLength={255} />
        </label>
        <label>
          Minutes; empty = until it is resumed
          <input name="minutes" inputMode="decimal" />
        </label>
      </>
    ),
    call: (fields) => ({
      method: 'POST',
      path: v1(place, `/queues/${encodeURIComponent(queue)}/pause`),
      body: JSON.stringify(bodyOf(fields)),
    }),
    cli: (fields) => {
      const { note, for_ms: forMs, ...part } = bodyOf(fields);
      const [[kind, key] = ['type', null]] = Object.entries(part);
      return [
        ...['queue', 'pause', queue, flagOf(kind as Kind), String(key ?? '')],
        ...(note === undefined ? [] : ['--note', String(note)]),
        ...(forMs === undefined ? [] : ['--for', `${String(forMs)}ms`]),
      ];
    },
    done: () => `${queue}: these jobs are paused.`,
  });
}
