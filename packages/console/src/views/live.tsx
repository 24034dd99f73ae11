import { useEffect, useState } from 'preact/hooks';
import { clock } from '../lib/format.js';
import { linesOf, queryOf } from '../lib/lines.js';
import { DEFAULT_POOL, type Place, v1 } from '../lib/place.js';
import { isLive } from '../lib/poll.js';
import { hrefIn, route, setQuery } from '../lib/router.js';
import { Empty, ShellLines, Table, Text } from '../ui/parts.jsx';

interface Event {
  readonly event: string;
  readonly at?: string;
  readonly queue?: string;
  readonly id?: string;
  readonly [field: string]: unknown;
}

/** Rows that are kept. */
const MOST = 300;
/** A busier stream ends: the browser and the server have better things to do. */
const MOST_PER_S = 1_000;
/** Between two pictures of the list, in milliseconds. */
const SHOW_MS = 250;
const NAMES = ['queue', 'event', 'job', 'type', 'tag'] as const;
const SHOWN = new Set(['event', 'at', 'queue', 'id']);

/** Events as they happen. Servers write events only while a client subscribes, so the stream ends with the page. */
export function LiveView({ place }: { place: Place }) {
  const { query } = route.value;
  const path = v1(
    place,
    `/events${queryOf(Object.fromEntries(NAMES.map((name) => [name, query.get(name)])))}`,
  );
  const [events, setEvents] = useState<readonly Event[]>([]);
  const [status, setStatus] = useState('connecting');
  const isOn = isLive.value;

  useEffect(() => {
    setEvents([]);
    if (!isOn) {
      setStatus('paused');
      return undefined;
    }
    let controller: AbortController | undefined;
    const begin = (): void => {
      controller?.abort();
      if (document.hidden) return;
      const mine = new AbortController();
      controller = mine;
      const onEvents = (found: readonly Event[]): void =>
        setEvents((old) => [...[...found].reverse(), ...old].slice(0, MOST));
      setStatus('connecting');
      follow(place, path, mine.signal, { onEvents, onOpen: () => setStatus('connected') })
        .then((reason) => setStatus(reason))
        .catch((error: unknown) => {
          if (!mine.signal.aborted) setStatus(error instanceof Error ? error.message : String(error));
        });
    };
    begin();
    document.addEventListener('visibilitychange', begin);
    return () => {
      document.removeEventListener('visibilitychange', begin);
      controller?.abort();
    };
  }, [path, isOn]);

  const filters = NAMES.flatMap((name) => (query.get(name) ? [`--${name}`, query.get(name) ?? ''] : []));
  return (
    <>
      <h1>Live</h1>
      <p class="dim">
        Events are written to Redis only while a client subscribes, each costs it some microseconds. The
        stream stops above {MOST_PER_S} events a second, and while the page is hidden.{' '}
        <span role="status">{status}</span>
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
      {events.length === 0 ? (
        <Empty>Nothing has happened since the page was opened.</Empty>
      ) : (
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
      )}
      <ShellLines lines={linesOf({ method: 'GET', path }, place, ['tail', ...filters])} />
    </>
  );
}

interface Handlers {
  readonly onOpen: () => void;
  readonly onEvents: (events: readonly Event[]) => void;
}

/** Reads a stream of events until it ends. @returns why it has ended */
async function follow(
  place: Place,
  path: string,
  signal: AbortSignal,
  { onOpen, onEvents }: Handlers,
): Promise<string> {
  const response = await fetch(new URL(`..${path}`, document.baseURI), {
    headers: {
      Accept: 'text/event-stream',
      'X-Pumphouse-Console': '1',
      ...(place.pool === DEFAULT_POOL ? {} : { 'X-Pool': place.pool }),
    },
    ...{ signal, cache: 'no-store' as const },
  });
  if (!response.ok || response.body === null) return `refused: ${(await response.text()).slice(0, 300)}`;
  onOpen();
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let waiting: Event[] = [];
  let shownAtMs = 0;
  let second = { fromMs: Date.now(), events: 0 };
  const show = (): void => {
    if (waiting.length > 0) onEvents(waiting.slice(-MOST));
    waiting = [];
    shownAtMs = Date.now();
  };
  const timer = setInterval(show, SHOW_MS);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return 'the server has ended the stream';
      const lines = (rest + value).split('\n');
      rest = lines.pop() ?? '';
      const found = lines.filter((line) => line.startsWith('data:')).map((line) => eventOf(line.slice(5)));
      waiting.push(...found);
      if (Date.now() - second.fromMs > 1_000) second = { fromMs: Date.now(), events: 0 };
      second.events += found.length;
      if (second.events > MOST_PER_S) {
        show();
        await reader.cancel();
        return `stopped: more than ${MOST_PER_S} events a second. Use a filter.`;
      }
      if (Date.now() - shownAtMs > SHOW_MS) show();
    }
  } finally {
    clearInterval(timer);
  }
}

function eventOf(json: string): Event {
  try {
    return JSON.parse(json) as Event;
  } catch {
    return { event: 'unreadable' };
  }
}
