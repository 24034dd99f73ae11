import { useState } from 'preact/hooks';
import { readIn } from '../lib/api.js';
import { count, local, utc } from '../lib/format.js';
import { linesOf, queryOf } from '../lib/lines.js';
import { type Place, v1 } from '../lib/place.js';
import { usePoll } from '../lib/poll.js';
import { go, hrefIn, route, setQuery } from '../lib/router.js';
import { sentenceOf } from '../lib/schedule.js';
import { may } from '../lib/session.js';
import type { Page, Recurring, Slot } from '../lib/types.js';
import { act } from '../ui/action.jsx';
import { Ago, Badge, Empty, FirstPage, Pages, Problem, ShellLines, Table, Text } from '../ui/parts.jsx';

/** Recurring jobs: when they run, what they made, what they skipped. */
export function SchedulesView({ place }: { place: Place }) {
  const { query } = route.value;
  const queue = query.get('queue');
  const path = `/recurring${queryOf({ queue, limit: 100, cursor: query.get('cursor') })}`;
  const { data, error, reload } = usePoll(
    path,
    (signal) => readIn<Page<Recurring>>(place, path, signal),
    5_000,
  );
  return (
    <>
      <h1>Schedules</h1>
      {queue !== null && (
        <p>
          <button type="button" class="chip on" onClick={() => setQuery({ queue: null, cursor: null })}>
            queue: {queue} <span aria-hidden="true">✕</span>
          </button>
        </p>
      )}
      <Problem error={error} hasData={data !== undefined} />
      {data?.items.length === 0 && (
        <Empty>
          No recurring job. Make one:{' '}
          <code>pumphouse recurring set nightly --cron "30 2 * * *" --tz UTC --queue reports</code>
        </Empty>
      )}
      {data !== undefined && data.items.length > 0 && (
        <Table label="Schedules">
          <thead>
            <tr>
              <th scope="col">Schedule</th>
              <th scope="col">When</th>
              <th scope="col">Next</th>
              <th scope="col">Last</th>
              <th scope="col" class="num">
                Made
              </th>
              <th scope="col" class="num">
                Skipped
              </th>
              <th scope="col">Actions</th>
            </tr>
          </thead>
          <tbody>
            {data.items.map((one) => (
              <ScheduleLine key={one.id} place={place} recurring={one} onChange={reload} />
            ))}
          </tbody>
        </Table>
      )}
      <Pages next={data?.next_cursor ?? null}>
        <FirstPage />
      </Pages>
      <ShellLines
        lines={linesOf({ method: 'GET', path: v1(place, path) }, place, [
          'recurring',
          'ls',
          ...(queue === null ? [] : ['--queue', queue]),
        ])}
      />
    </>
  );
}

function ScheduleLine({
  place,
  recurring,
  onChange,
}: {
  place: Place;
  recurring: Recurring;
  onChange: () => void;
}) {
  const [isOpen, setOpen] = useState(false);
  const { id, schedule, job, paused, note, last_skip } = recurring;
  return (
    <>
      <tr>
        <th scope="row">
          <button type="button" class="expand" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
            <span aria-hidden="true">{isOpen ? '▾' : '▸'}</span> <Text>{id}</Text>
          </button>
          {paused && <Badge state="paused" />}
          <div class="dim">
            to <a href={hrefIn(place, ['queues', job.queue])}>{job.queue}</a>
            {job.type !== undefined && (
              <>
                , <Text>{job.type}</Text>
              </>
            )}
          </div>
        </th>
        <td>
          <Text>{sentenceOf(schedule)}</Text>
          {note !== null && (
            <div class="dim">
              <Text>{note}</Text>
            </div>
          )}
        </td>
        <td>
          <Ago at={recurring.next_at} />
        </td>
        <td>
          <Ago at={recurring.last_at} />
        </td>
        <td class="num">{count(recurring.made)}</td>
        <td class={`num ${recurring.skipped > 0 ? '' : 'dim'}`}>
          {count(recurring.skipped)}
          {last_skip !== null && (
            <div class="dim">
              {last_skip.reason.replaceAll('_', ' ')} <Ago at={last_skip.at} />
            </div>
          )}
        </td>
        <td class="buttons">
          {may('operator') && <ScheduleActions place={place} recurring={recurring} onChange={onChange} />}
        </td>
      </tr>
      {isOpen && (
        <tr>
          <td colSpan={7}>
            <NextRuns place={place} id={id} queue={job.queue} />
          </td>
        </tr>
      )}
    </>
  );
}

function NextRuns({ place, id, queue }: { place: Place; id: string; queue: string }) {
  const path = `/recurring/${encodeURIComponent(id)}/next?count=5`;
  const { data, error } = usePoll(
    `next ${id}`,
    (signal) => readIn<{ slots: readonly Slot[] }>(place, path, signal),
    30_000,
  );
  if (data === undefined) return <Problem error={error} hasData={false} />;
  if (data.slots.length === 0)
    return <p class="dim">No further run: it is paused, or its schedule has ended.</p>;
  return (
    <>
      <p>
        The next {data.slots.length} runs. <a href={hrefIn(place, ['jobs'], { queue })}>Its jobs</a> have ids
        that begin with <code>{id}-</code>.
      </p>
      <ul class="slots">
        {data.slots.map((slot) => (
          <li key={slot.at}>
            <span class="num">{local(slot.at)}</span> here · <span class="num">{utc(slot.at)}</span>
            {slot.local !== null && <> · {slot.local} there</>}
            {slot.moved && <Badge state="warning">moved by a change of the clock</Badge>}
          </li>
        ))}
      </ul>
      <ShellLines
        lines={linesOf({ method: 'GET', path: v1(place, path) }, place, [
          'recurring',
          'next',
          id,
          '--count',
          '5',
        ])}
      />
    </>
  );
}

function ScheduleActions({
  place,
  recurring: { id, paused },
  onChange,
}: {
  place: Place;
  recurring: Recurring;
  onChange: () => void;
}) {
  const base = v1(place, `/recurring/${encodeURIComponent(id)}`);
  const run = (): void =>
    act({
      ...{
        title: `Run ${id} now`,
        about: 'Publishes a job now, outside of the schedule, also while it is paused.',
        place,
      },
      call: () => ({ method: 'POST', path: `${base}/run` }),
      cli: () => ['recurring', 'run', id],
      done: ({ body }) => `Published ${(body as { id: string }).id}.`,
      after: ({ body }) => go(hrefIn(place, ['jobs', (body as { id: string }).id])),
    });
  const pause = (): void =>
    act({
      ...{
        title: `Pause ${id}`,
        about: 'It publishes nothing until it is resumed. Runs in between are not caught up.',
        place,
        after: onChange,
      },
      form: (
        <label>
          <span>Note</span>
          <input name="note" autocomplete="off" />
          <small>why; shown until the resume</small>
        </label>
      ),
      call: (fields) => {
        const note = (fields.get('note') ?? '').trim();
        return { method: 'POST', path: `${base}/pause`, body: JSON.stringify(note === '' ? {} : { note }) };
      },
      cli: (fields) => [
        'recurring',
        'pause',
        id,
        ...((fields.get('note') ?? '') === '' ? [] : ['--note', fields.get('note') ?? '']),
      ],
      done: () => `${id} is paused.`,
    });
  const simple = (verb: 'resume' | 'rm', title: string, about: string, done: string): void =>
    act({
      ...{ title, about, place, after: onChange, isDanger: verb === 'rm' },
      call: () =>
        verb === 'rm' ? { method: 'DELETE', path: base } : { method: 'POST', path: `${base}/resume` },
      cli: () => ['recurring', verb, id],
      done: () => done,
    });
  return (
    <>
      <button type="button" onClick={run}>
        Run now
      </button>
      {paused ? (
        <button
          type="button"
          onClick={() =>
            simple('resume', `Resume ${id}`, 'It goes on with the next run.', `${id} is resumed.`)
          }
        >
          Resume
        </button>
      ) : (
        <button type="button" onClick={pause}>
          Pause
        </button>
      )}
      <button
        type="button"
        class="danger"
        onClick={() =>
          simple('rm', `Delete ${id}`, 'Deletes the schedule. Jobs that it made stay.', `${id} was deleted.`)
        }
      >
        Delete
      </button>
    </>
  );
}
