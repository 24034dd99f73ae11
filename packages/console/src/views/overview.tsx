import { useEffect, useRef, useState } from 'preact/hooks';
import { read } from '../lib/api.js';
import { bytes, count, duration, rate } from '../lib/format.js';
import { linesOf, queryOf, quoted, server } from '../lib/lines.js';
import { usePoll } from '../lib/poll.js';
import { href, hrefIn, route, setQuery } from '../lib/router.js';
import {
  Ago,
  Badge,
  CodeLine,
  Empty,
  FirstPage,
  Num,
  Pages,
  Problem,
  ShellLines,
  SortHead,
  Table,
  Text,
} from '../ui/parts.jsx';
import { Spark } from '../ui/spark.jsx';

interface PoolRow {
  readonly pool: string;
  readonly up: boolean;
  readonly degraded: readonly string[];
  readonly error: string | null;
  readonly used_memory: number | null;
  readonly max_memory: number | null;
  readonly latency_ms: number | null;
  readonly queues: number;
  readonly namespaces: number;
  readonly moves_to: string | null;
  readonly history: boolean;
  readonly sampled_at: string | null;
}

export interface QueueRow {
  readonly pool: string;
  readonly namespace: string;
  readonly queue: string;
  readonly ready: number;
  readonly leased: number;
  readonly scheduled: number;
  readonly dead: number;
  readonly oldest_ready_age_ms: number;
  readonly paused_at: string | null;
  readonly draining_at: string | null;
  readonly workers: number | null;
  readonly published_per_s: number | null;
  readonly acked_per_s: number | null;
  readonly failed_per_s: number | null;
  readonly activity: {
    readonly step_ms: number;
    readonly acked: readonly (number | null)[];
    readonly failed: readonly (number | null)[];
  } | null;
}

type Totals = Readonly<
  Record<'queues' | 'paused' | 'ready' | 'leased' | 'scheduled' | 'dead' | 'blocked' | 'held', number> &
    Record<'published_per_s' | 'acked_per_s' | 'failed_per_s', number | null>
>;

export interface Overview {
  readonly pools: readonly PoolRow[];
  readonly totals: Totals;
  readonly matched: number;
  readonly items: readonly QueueRow[];
  readonly next_cursor: string | null;
}

const FILTERS = [
  ['dead', 'with dead jobs'],
  ['failing', 'failing now'],
  ['unworked', 'without a worker'],
  ['paused', 'paused'],
  ['ready', 'with ready jobs'],
  ['leased', 'running'],
] as const;
/** Filters by a place, which links of other pages set. */
const PLACE_FILTERS = ['namespace', 'pool'] as const;

export function OverviewView() {
  const { query } = route.value;
  const get = (name: string): string => query.get(name) ?? '';
  const sort = get('sort') || 'name';
  const isUp = (get('order') || (sort === 'name' ? 'asc' : 'desc')) === 'asc';
  const path = `/overview${queryOf({
    ...{ match: get('match'), only: get('only'), namespace: get('namespace'), pool: get('pool') },
    ...{ sort: get('sort'), order: get('order'), cursor: get('cursor') },
  })}`;
  const { data, error } = usePoll(path, (signal) => read<Overview>(path, signal));
  const isFiltered = ['match', 'only', 'namespace', 'pool', 'cursor'].some((name) => get(name) !== '');
  const onSort = (name: string): void =>
    setQuery({
      ...{ sort: name === 'name' ? null : name, cursor: null },
      order: name === sort ? (isUp ? 'desc' : 'asc') : null,
    });
  return (
    <>
      <h1>Overview</h1>
      <Problem error={error} hasData={data !== undefined} />
      {data !== undefined && <Pools pools={data.pools} />}
      {data?.totals.queues === 0 && !isFiltered ? (
        <FirstRun />
      ) : (
        <>
          {data !== undefined && <TotalsRow totals={data.totals} />}
          {/* Also while an answer is awaited: whoever types in it must not lose it. */}
          <FilterBar />
          {data !== undefined && <Queues data={data} sort={sort} isUp={isUp} onSort={onSort} />}
          {data !== undefined && <OverviewPages data={data} />}
        </>
      )}
      <ShellLines
        lines={linesOf({ method: 'GET', path }, null, [
          'namespace',
          'ls',
          ...(get('pool') === '' ? [] : ['--pool', get('pool')]),
        ])}
      />
    </>
  );
}

function Pools({ pools }: { pools: readonly PoolRow[] }) {
  return (
    <ul class="pools" aria-label="Pools">
      {pools.map((pool) => {
        const isWell = pool.up && pool.degraded.length === 0;
        const memory = `${bytes(pool.used_memory)}${pool.max_memory ? ` of ${bytes(pool.max_memory)}` : ''}`;
        return (
          <li key={pool.pool}>
            <a href={href(['redis'])}>
              <Badge state={!pool.up ? 'problem' : isWell ? 'ok' : 'warning'}>
                {!pool.up ? 'down' : isWell ? 'well' : pool.degraded.join(', ')}
              </Badge>{' '}
              Redis {pool.pool}
            </a>
            <span class="dim">
              {pool.error ??
                `${memory} · ${pool.latency_ms?.toFixed(1) ?? '–'} ms · ${count(pool.queues)} queues`}
              {pool.moves_to !== null && ` · moves to ${pool.moves_to}`}
            </span>
            {!pool.history && <span class="dim">history is off</span>}
          </li>
        );
      })}
    </ul>
  );
}

function TotalsRow({ totals }: { totals: Totals }) {
  const numbers = [
    ['queues', count(totals.queues)],
    ['ready', count(totals.ready)],
    ['leased', count(totals.leased)],
    ['scheduled', count(totals.scheduled)],
    ['dead', count(totals.dead)],
    ['published/s', rate(totals.published_per_s)],
    ['acked/s', rate(totals.acked_per_s)],
    ['failed/s', rate(totals.failed_per_s)],
  ] as const;
  return (
    <dl class="totals">
      {numbers.map(([name, value]) => (
        <div
          key={name}
          class={(name === 'dead' || name === 'failed/s') && value !== '0' && value !== '–' ? 'bad' : ''}
        >
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

/** How long typing must rest before it filters, in milliseconds. */
const TYPING_MS = 250;

function FilterBar() {
  const { query } = route.value;
  const only = (query.get('only') ?? '').split(',').filter(Boolean);
  const match = query.get('match') ?? '';
  const [text, setText] = useState(match);
  /** Set while what was typed last is no filter yet. */
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(() => {
    // Text that is being typed stays: it is the next filter.
    if (timer.current === undefined) setText(match);
  }, [match]);
  const toggle = (name: string): void => {
    const next = only.includes(name) ? only.filter((one) => one !== name) : [...only, name];
    setQuery({ only: next.join(','), cursor: null });
  };
  return (
    <search class="filters">
      <input
        type="search"
        aria-label="Filter queues by namespace/queue"
        placeholder="Filter namespace/queue   /"
        data-key="/"
        value={text}
        onInput={({ currentTarget: { value } }) => {
          setText(value);
          clearTimeout(timer.current);
          timer.current = setTimeout(() => {
            timer.current = undefined;
            setQuery({ match: value, cursor: null });
          }, TYPING_MS);
        }}
      />
      {FILTERS.map(([name, label]) => (
        <button
          type="button"
          class="chip"
          key={name}
          aria-pressed={only.includes(name)}
          onClick={() => toggle(name)}
        >
          {label}
        </button>
      ))}
      {PLACE_FILTERS.filter((name) => query.get(name)).map((name) => (
        <button
          type="button"
          class="chip on"
          key={name}
          onClick={() => setQuery({ [name]: null, cursor: null })}
          aria-label={`Remove the filter ${name} ${query.get(name) ?? ''}`}
        >
          {name}: <Text>{query.get(name) ?? ''}</Text> <span aria-hidden="true">✕</span>
        </button>
      ))}
    </search>
  );
}

function Queues(props: {
  readonly data: Overview;
  readonly sort: string;
  readonly isUp: boolean;
  readonly onSort: (name: string) => void;
}) {
  const { data, sort, isUp, onSort } = props;
  if (data.items.length === 0) return <Empty>No queue matches the filter.</Empty>;
  const head = (name: string, label: string, isNum = true) => (
    <SortHead name={name} label={label} sort={sort} isUp={isUp} onSort={onSort} isNum={isNum} />
  );
  return (
    <Table label="Queues">
      <thead>
        <tr>
          {head('name', 'Queue', false)}
          {head('ready', 'Ready')}
          {head('oldest', 'Oldest')}
          {head('leased', 'Leased')}
          {head('scheduled', 'Scheduled')}
          {head('dead', 'Dead')}
          <th scope="col">Activity</th>
          {head('acked', 'Acked/s')}
          {head('failed', 'Failed/s')}
          <th scope="col" class="num">
            Workers
          </th>
        </tr>
      </thead>
      <tbody>
        {data.items.map((row) => (
          <QueueLine key={`${row.pool}/${row.namespace}/${row.queue}`} row={row} />
        ))}
      </tbody>
    </Table>
  );
}

function QueueLine({ row }: { row: QueueRow }) {
  const { activity } = row;
  const minutes = activity === null ? 0 : Math.round((activity.acked.length * activity.step_ms) / 60_000);
  const sum = (values: readonly (number | null)[]): number =>
    values.reduce<number>((all, one) => all + (one ?? 0), 0);
  return (
    <tr>
      <th scope="row">
        <span class="dim">
          {row.pool === 'default' ? '' : `${row.pool}: `}
          {row.namespace} /
        </span>{' '}
        <a href={hrefIn(row, ['queues', row.queue])}>{row.queue}</a>
        {row.paused_at !== null && <Badge state="paused" />}
        {row.draining_at !== null && <Badge state="draining" />}
      </th>
      <Num value={row.ready} />
      <td class="num">{row.ready === 0 ? <span class="dim">–</span> : duration(row.oldest_ready_age_ms)}</td>
      <Num value={row.leased} />
      <Num value={row.scheduled} />
      <td class={`num ${row.dead > 0 ? 'bad' : 'dim'}`}>
        {row.dead > 0 ? (
          <a href={hrefIn(row, ['jobs'], { queue: row.queue, state: 'dead' })}>{count(row.dead)}</a>
        ) : (
          '0'
        )}
      </td>
      <td>
        {activity === null ? (
          <span class="dim">–</span>
        ) : (
          <Spark
            done={activity.acked}
            failed={activity.failed}
            label={`${count(sum(activity.acked))} acked and ${count(sum(activity.failed))} failed in ${minutes} minutes`}
          />
        )}
      </td>
      <td class={`num ${row.acked_per_s ? '' : 'dim'}`}>{rate(row.acked_per_s)}</td>
      <td class={`num ${row.failed_per_s ? 'bad' : 'dim'}`}>{rate(row.failed_per_s)}</td>
      <Num value={row.workers} />
    </tr>
  );
}

function OverviewPages({ data }: { data: Overview }) {
  const sampled = data.pools.map(({ sampled_at }) => sampled_at).find((at) => at !== null);
  return (
    <Pages next={data.next_cursor}>
      <span class="dim">
        {count(data.matched)} {data.matched === 1 ? 'queue' : 'queues'}
        {sampled !== undefined && (
          <>
            {' '}
            · sorted by a sample of <Ago at={sampled} />
          </>
        )}
      </span>
      <FirstPage />
    </Pages>
  );
}

/** The lines that publish the first job. */
export const FIRST_LINES = [
  'export PUMPHOUSE_NAMESPACE=demo PUMPHOUSE_TOKEN=$(npx pumphouse token create demo -d "first steps")',
  `npx pumphouse job publish mail '{"to":"ada@example.com"}' --type welcome`,
] as const;

/** The addresses that `pumphouse` calls by itself. */
const USUAL = /^http:\/\/(?:127\.0\.0\.1|localhost):(\d+)$/;
const [USUAL_ADMIN_PORT, USUAL_API_PORT] = ['7778', '7777'];

/** What the lines need where the server has other ports, or is elsewhere; null: nothing. */
function firstAddress(): string | null {
  const { adminUrl, apiUrl } = server.value;
  const isUsual =
    USUAL.exec(adminUrl)?.[1] === USUAL_ADMIN_PORT && USUAL.exec(apiUrl ?? '')?.[1] === USUAL_API_PORT;
  if (isUsual) return null;
  const line = `export PUMPHOUSE_ADMIN_URL=${quoted(adminUrl)} PUMPHOUSE_URL=`;
  return apiUrl === null ? `${line}…   # …: the address of the API` : `${line}${quoted(apiUrl)}`;
}

function FirstRun() {
  const address = firstAddress();
  return (
    <section class="first" aria-label="First steps">
      <h2>No queues yet</h2>
      <p>
        A queue begins with its first job. Run these two lines on this machine: the page shows the queue as
        soon as the job is there.
      </p>
      {address !== null && <CodeLine text={address} what="the line of the addresses" />}
      {FIRST_LINES.map((text, i) => (
        <CodeLine key={text} text={text} what={`line ${i + 1}`} />
      ))}
    </section>
  );
}
