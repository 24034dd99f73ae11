import { useState } from 'preact/hooks';
import { readIn } from '../lib/api.js';
import { linesOf, queryOf } from '../lib/lines.js';
import { type ActionName, ACTIONS } from '../lib/operations.js';
import { type Place, v1 } from '../lib/place.js';
import { usePoll } from '../lib/poll.js';
import { go, hrefIn, route, setQuery } from '../lib/router.js';
import { may } from '../lib/session.js';
import { type ListedJob, type Page, type State, STATES } from '../lib/types.js';
import { act } from '../ui/action.jsx';
import { startOperation } from '../ui/operation.jsx';
import { Ago, Badge, Empty, FirstPage, Pages, Problem, ShellLines, Table, Text } from '../ui/parts.jsx';

const FIELDS = ['queue', 'state', 'type', 'tag', 'group', 'worker'] as const;
type FieldName = (typeof FIELDS)[number];
const PAGE = 50;
/** Ids in one call. */
const MOST_IDS = 64;

type Filter = Readonly<Partial<Record<FieldName, string>>>;

function filterOf(query: URLSearchParams): Filter {
  return Object.fromEntries(
    FIELDS.flatMap((name) => (query.get(name) ? [[name, query.get(name) ?? '']] : [])),
  );
}

export function JobsView({ place }: { place: Place }) {
  const { query } = route.value;
  const filter = filterOf(query);
  const order = query.get('order') ?? 'newest';
  const path = `/jobs${queryOf({ ...filter, order, limit: PAGE, cursor: query.get('cursor') })}`;
  const { data, error, reload } = usePoll(
    path,
    (signal) => readIn<Page<ListedJob>>(place, path, signal),
    3_000,
  );
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const flags = FIELDS.flatMap((name) => (filter[name] === undefined ? [] : [`--${name}`, filter[name]]));
  return (
    <>
      <h1>Jobs</h1>
      <Filters key={query.toString()} filter={filter} order={order} place={place} />
      <Problem error={error} hasData={data !== undefined} />
      {data !== undefined && (
        <>
          <Bulk
            place={place}
            filter={filter}
            chosen={data.items.filter(({ id }) => chosen.has(id))}
            onChange={() => {
              setChosen(new Set());
              reload();
            }}
          />
          {data.items.length === 0 ? (
            <NoJobs hasMore={data.next_cursor !== null} isFiltered={Object.keys(filter).length > 0} />
          ) : (
            <List place={place} jobs={data.items} filter={filter} chosen={chosen} onChoose={setChosen} />
          )}
          <Pages next={data.next_cursor}>
            <FirstPage />
          </Pages>
        </>
      )}
      <ShellLines
        lines={linesOf({ method: 'GET', path: v1(place, path) }, place, [
          'job',
          'ls',
          ...flags,
          '--order',
          order,
          '--limit',
          String(PAGE),
        ])}
      />
    </>
  );
}

function NoJobs({ hasMore, isFiltered }: { hasMore: boolean; isFiltered: boolean }) {
  if (hasMore) return <Empty>No job on this page matches; the list goes on: next page.</Empty>;
  return (
    <Empty>
      {isFiltered
        ? 'No job matches. Jobs that are acked leave no trace without a retention.'
        : 'This namespace has no jobs.'}
    </Empty>
  );
}

function Filters({ place, filter, order }: { place: Place; filter: Filter; order: string }) {
  const [name, setName] = useState<FieldName | 'id'>('queue');
  const [text, setText] = useState('');
  const states = (filter.state ?? '').split(',').filter(Boolean);
  const toggle = (state: State): void => {
    const next = states.includes(state) ? states.filter((one) => one !== state) : [...states, state];
    setQuery({ state: next.join(','), cursor: null });
  };
  const add = (): void => {
    const value = text.trim();
    if (value === '') return;
    if (name === 'id') go(hrefIn(place, ['jobs', value]));
    else setQuery({ [name]: value, cursor: null });
  };
  return (
    <search class="filters">
      <form
        class="adder"
        onSubmit={(event) => {
          event.preventDefault();
          add();
        }}
      >
        <select
          aria-label="Filter by"
          value={name}
          onChange={({ currentTarget: { value } }) => setName(value as FieldName | 'id')}
        >
          {['id', ...FIELDS.filter((one) => one !== 'state')].map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
        <input
          type="search"
          data-key="/"
          aria-label="Value of the filter"
          placeholder="value, then Enter   /"
          value={text}
          onInput={({ currentTarget: { value } }) => setText(value)}
        />
      </form>
      {STATES.map((state) => (
        <button
          type="button"
          class="chip"
          key={state}
          aria-pressed={states.includes(state)}
          onClick={() => toggle(state)}
        >
          {state}
        </button>
      ))}
      {FIELDS.filter((one) => one !== 'state' && filter[one] !== undefined).map((one) => (
        <button
          type="button"
          class="chip on"
          key={one}
          onClick={() => setQuery({ [one]: null, cursor: null })}
          aria-label={`Remove the filter ${one} ${filter[one] ?? ''}`}
        >
          {one}: <Text>{filter[one] ?? ''}</Text> <span aria-hidden="true">✕</span>
        </button>
      ))}
      <button
        type="button"
        class="chip"
        onClick={() => setQuery({ order: order === 'newest' ? 'oldest' : null, cursor: null })}
      >
        {order} first
      </button>
    </search>
  );
}

function List(props: {
  readonly place: Place;
  readonly jobs: readonly ListedJob[];
  readonly filter: Filter;
  readonly chosen: ReadonlySet<string>;
  readonly onChoose: (ids: ReadonlySet<string>) => void;
}) {
  const { place, jobs, filter, chosen, onChoose } = props;
  const isAll = jobs.every(({ id }) => chosen.has(id));
  const toggle = (id: string): void => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    onChoose(next);
  };
  return (
    <Table label="Jobs">
      <thead>
        <tr>
          <th scope="col" class="tick">
            <input
              type="checkbox"
              aria-label="Select all of this page"
              checked={isAll}
              onChange={() => onChoose(new Set(isAll ? [] : jobs.map(({ id }) => id)))}
            />
          </th>
          <th scope="col">Job</th>
          <th scope="col">State</th>
          {filter.queue === undefined && <th scope="col">Queue</th>}
          <th scope="col">Type</th>
          <th scope="col" class="num">
            Attempts
          </th>
          <th scope="col">Published</th>
          <th scope="col">Now</th>
        </tr>
      </thead>
      <tbody>
        {jobs.map((job) => (
          <tr key={job.id}>
            <td class="tick">
              <input
                type="checkbox"
                aria-label={`Select ${job.id}`}
                checked={chosen.has(job.id)}
                onChange={() => toggle(job.id)}
              />
            </td>
            <th scope="row" class="id">
              <a href={hrefIn(place, ['jobs', job.id])}>{job.id}</a>
            </th>
            <td>
              <Badge state={job.state} />
            </td>
            {filter.queue === undefined && (
              <td>
                <a href={hrefIn(place, ['queues', job.queue])}>{job.queue}</a>
              </td>
            )}
            <td>
              <Text>{job.type ?? ''}</Text>
            </td>
            <td class={`num ${job.attempts > 1 ? '' : 'dim'}`}>
              {job.attempts}/{job.tries}
            </td>
            <td>
              <Ago at={job.published_at} />
            </td>
            <td class="now">
              <NowOf job={job} />
            </td>
          </tr>
        ))}
      </tbody>
    </Table>
  );
}

/** What matters of a job in its state. */
function NowOf({ job }: { job: ListedJob }) {
  const { failure, state } = job;
  if (failure !== null && (state === 'dead' || state === 'scheduled' || state === 'ready'))
    return (
      <span class={state === 'dead' ? 'bad' : ''}>
        <strong>
          <Text>{failure.group}</Text>
        </strong>{' '}
        <span class="one">
          <Text>{failure.message?.slice(0, 200) ?? ''}</Text>
        </span>
      </span>
    );
  if (state === 'leased')
    return (
      <>
        <Text>{job.leased_by ?? 'a worker'}</Text>, until <Ago at={job.lease_ends_at} />
      </>
    );
  if (state === 'scheduled')
    return (
      <>
        due <Ago at={job.due_at} />
      </>
    );
  return job.ended_at === null ? null : <Ago at={job.ended_at} />;
}

function Bulk(props: {
  readonly place: Place;
  readonly filter: Filter;
  readonly chosen: readonly ListedJob[];
  readonly onChange: () => void;
}) {
  const { place, filter, chosen, onChange } = props;
  if (!may('operator')) return null;
  const { state, ...rest } = filter;
  const all = { ...rest, ...(state === undefined ? {} : { state: state.split(',') }) };
  const begin = (name: string): void => {
    if (name !== '') startOperation(place, name as ActionName, all);
  };
  return (
    <div class="buttons" role="group" aria-label="Actions on several jobs">
      {chosen.length > 0 ? (
        <>
          <span>{chosen.length} selected</span>
          <button
            type="button"
            onClick={() => respawn(place, chosen, onChange)}
            disabled={chosen.every((job) => job.state !== 'dead')}
          >
            Respawn
          </button>
          <button type="button" class="danger" onClick={() => cancel(place, chosen, onChange)}>
            Cancel jobs
          </button>
        </>
      ) : (
        <label class="inline">
          All that match:{' '}
          <select
            value=""
            onChange={({ currentTarget }) => {
              begin(currentTarget.value);
              currentTarget.value = '';
            }}
          >
            <option value="">choose an action …</option>
            {ACTIONS.map(([name, label]) => (
              <option key={name} value={name}>
                {label}
              </option>
            ))}
          </select>
        </label>
      )}
    </div>
  );
}

function respawn(place: Place, jobs: readonly ListedJob[], onChange: () => void): void {
  const ids = jobs.filter(({ state }) => state === 'dead').map(({ id }) => id);
  act({
    ...{ title: `Respawn ${ids.length} dead ${ids.length === 1 ? 'job' : 'jobs'}`, place, after: onChange },
    about: 'They are ready again, with all their tries.',
    call: () => ({ method: 'POST', path: v1(place, '/dead-letter/respawn'), body: JSON.stringify({ ids }) }),
    cli: () => ['job', 'retry', ...ids],
    done: ({ body }) => `${(body as { jobs: number }).jobs} jobs are ready again.`,
  });
}

function cancel(place: Place, jobs: readonly ListedJob[], onChange: () => void): void {
  const ids = jobs.slice(0, MOST_IDS).map(({ id }) => id);
  act({
    ...{
      title: `Cancel ${ids.length} ${ids.length === 1 ? 'job' : 'jobs'}`,
      place,
      isDanger: true,
      after: onChange,
    },
    about: 'Jobs that wait or are dead end at once; workers of leased ones get a request to stop.',
    call: () => ({ method: 'POST', path: v1(place, '/jobs/cancel'), body: JSON.stringify({ ids }) }),
    cli: () => ['job', 'cancel', ...ids],
    done: ({ body }) => outcomes((body as { results: { outcome: string }[] }).results),
  });
}

function outcomes(results: readonly { outcome: string }[]): string {
  const counts = new Map<string, number>();
  for (const { outcome } of results) counts.set(outcome, (counts.get(outcome) ?? 0) + 1);
  return [...counts].map(([outcome, jobs]) => `${jobs} ${outcome.replace('_', ' ')}`).join(', ');
}
