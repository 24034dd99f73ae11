import { useEffect, useState } from 'preact/hooks';
import { needsSignIn } from '../lib/api.js';
import { MOST_PER_S } from '../lib/event-rate.js';
import { type End, type Event, follow } from '../lib/event-stream.js';
import { clock, count } from '../lib/format.js';
import { linesOf, queryOf } from '../lib/lines.js';
import { type Place, v1 } from '../lib/place.js';
import { isLive } from '../lib/poll.js';
import { visible } from '../lib/raw-json.js';
import { hrefIn, route, setQuery } from '../lib/router.js';
import { Empty, ShellLines, Table, Text } from '../ui/parts.jsx';

/** Rows that are kept. */
const MOST = 300;
/** Between two pictures of the list, in milliseconds. */
const SHOW_MS = 250;
const NAMES = ['queue', 'event', 'job', 'type', 'tag'] as const;
const SHOWN = new Set(['event', 'at', 'queue', 'id']);

type Status = 'connecting' | 'connected' | 'paused' | 'hidden' | End;

/** Events as they happen. Servers write events only while a client subscribes, so the stream ends with the page. */
export function LiveView({ place }: { place: Place }) {
  const { query } = route.value;
  const path = v1(
    place,
    `/events${queryOf(Object.fromEntries(NAMES.map((name) => [name, query.get(name)])))}`,
  );
  const { events, status, goOn } = useEvents(place, path);
  const filters = NAMES.flatMap((name) => (query.get(name) ? [`--${name}`, query.get(name) ?? ''] : []));
  return (
    <>
      <h1>Live</h1>
      <p class="dim">
        Servers write events to Redis only while a client reads them, and for some seconds after: each takes
        Redis a few microseconds, and a short place in its memory. So this page reads them only while it is
        open and visible, and stops if there are more than {count(MOST_PER_S)} in a second.
      </p>
      <search class="filters">
        {NAMES.map((name) => (
          <label key={name} class="inline">
            {name}{' '}
            <input
              type="search"
              value={query.get(name) ?? ''}
              onChange={({ currentTarget: { value } }) => setQuery({ [name]: value.trim() })}
            />
          </label>
        ))}
      </search>
      <StreamState status={status} onGoOn={goOn} />
      {events.length === 0 ? (
        <Empty>{status === 'connected' ? 'Nothing has happened since then.' : 'No events.'}</Empty>
      ) : (
        <Events place={place} events={events} />
      )}
      <ShellLines lines={linesOf({ method: 'GET', path }, place, ['tail', ...filters])} />
    </>
  );
}

const TEXTS = {
  connecting: 'Connecting …',
  connected: 'Connected: events are shown as they happen.',
  paused: 'The updates of the page are paused: nothing is read.',
  hidden: 'The page is hidden: nothing is read.',
} as const;

function StreamState({ status, onGoOn }: { status: Status; onGoOn: () => void }) {
  if (typeof status === 'string')
    return (
      <p class="dim" role="status">
        {TEXTS[status]}
      </p>
    );
  return (
    <section class="explain warn" aria-label="The stream has stopped">
      <p class="sentence" role="alert">
        {visible(status.text)}
      </p>
      <p>
        {status.why === 'busy' && 'So the page has stopped to read them. A filter shows fewer. '}
        Events of the time until you go on are not shown.
      </p>
      <div class="buttons">
        <button type="button" class="primary" onClick={onGoOn}>
          Go on
        </button>
      </div>
    </section>
  );
}

interface Stream {
  /** Newest first. */
  readonly events: readonly Event[];
  readonly status: Status;
  /** Reads on after the stream has ended. */
  readonly goOn: () => void;
}

/** Follows a stream while the page is visible and live. */
function useEvents(place: Place, path: string): Stream {
  const [events, setEvents] = useState<readonly Event[]>([]);
  const [status, setStatus] = useState<Status>('connecting');
  const [run, setRun] = useState(0);
  const [isHidden, setHidden] = useState(document.hidden);
  const isOn = isLive.value && !needsSignIn.value && !isHidden;

  useEffect(() => {
    const onVisible = (): void => setHidden(document.hidden);
    document.addEventListener('visibilitychange', onVisible);
    return () => document.removeEventListener('visibilitychange', onVisible);
  }, []);
  useEffect(() => setEvents([]), [path]);
  useEffect(() => {
    setStatus(isOn ? 'connecting' : isHidden ? 'hidden' : 'paused');
    if (!isOn) return undefined;
    const controller = new AbortController();
    let waiting: Event[] = [];
    const show = (): void => {
      const found = waiting.reverse();
      waiting = [];
      if (found.length > 0) setEvents((old) => [...found, ...old].slice(0, MOST));
    };
    const timer = setInterval(show, SHOW_MS);
    const end = (reason: End): void => {
      clearInterval(timer);
      show();
      setStatus(reason);
    };
    follow(place, path, controller.signal, {
      onOpen: () => setStatus('connected'),
      onEvents: (found) => void (waiting = [...waiting, ...found].slice(-MOST)),
    })
      .then(end)
      .catch(() => {
        if (!controller.signal.aborted) end({ why: 'ended', text: 'The connection to the server is lost.' });
      });
    return () => {
      clearInterval(timer);
      controller.abort();
    };
  }, [path, isOn, run]);
  return { events, status, goOn: () => setRun(run + 1) };
}

function Events({ place, events }: { place: Place; events: readonly Event[] }) {
  return (
    <Table label="Events, newest first">
      <thead>
        <tr>
          <th scope="col">When</th>
          <th scope="col">Event</th>
          <th scope="col">Queue</th>
          <th scope="col">Job</th>
          <th scope="col">More</th>
        </tr>
      </thead>
      <tbody>
        {events.map((event, i) => (
          <tr key={events.length - i}>
            <td class="num">{event.at === undefined ? '' : clock(event.at)}</td>
            <td>{event.event.replaceAll('_', ' ')}</td>
            <td>
              <Text>{event.queue ?? ''}</Text>
            </td>
            <td>
              {event.id !== undefined && (
                <a class="id" href={hrefIn(place, ['jobs', event.id])}>
                  {event.id}
                </a>
              )}
            </td>
            <td>
              {Object.entries(event)
                .filter(([name]) => !SHOWN.has(name))
                .map(([name, value]) => (
                  <span class="pair" key={name}>
                    <span class="dim">{name.replaceAll('_', ' ')}</span>{' '}
                    <Text>{typeof value === 'string' ? value.slice(0, 300) : JSON.stringify(value)}</Text>
                  </span>
                ))}
            </td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}
