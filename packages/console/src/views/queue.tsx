import { useState } from 'preact/hooks';
import { callCounter, type Purged } from '../lib/answers.js';
import { call, CallError, read, readIn } from '../lib/api.js';
import { count, duration, rate } from '../lib/format.js';
import { linesOf, queryOf } from '../lib/lines.js';
import { DEFAULT_POOL, type Place, v1 } from '../lib/place.js';
import { type Polled, usePoll } from '../lib/poll.js';
import { changesOf, fieldOf, SETTINGS } from '../lib/queue-settings.js';
import { rawMembers } from '../lib/raw-json.js';
import { hrefIn, hrefOfQueues } from '../lib/router.js';
import { may } from '../lib/session.js';
import { type Page, type Queue, STATES, type Stats, type Worker } from '../lib/types.js';
import { act } from '../ui/action.jsx';
import { Chart, type Series } from '../ui/chart.jsx';
import { ExplainBox, explanationOf } from '../ui/explain.jsx';
import { FairKeysOf } from './queue-fair-keys.jsx';
import { pauseSome, Pauses } from './queue-pauses.jsx';
import { Ago, Badge, Empty, Facts, Problem, ShellLines, Table, Text } from '../ui/parts.jsx';

interface Props {
  readonly place: Place;
  readonly queue: string;
}

/** A queue, with the text of its settings as the server wrote them. */
interface Shown {
  readonly queue: Queue;
  readonly raw: ReadonlyMap<string, string>;
}

async function loadQueue(place: Place, path: string, signal: AbortSignal): Promise<Shown> {
  const { body, text } = await call<Queue>({ method: 'GET', path: v1(place, path) }, place.pool, signal);
  return { queue: body, raw: rawMembers(text) };
}

export function QueueView({ place, queue: name }: Props) {
  const path = `/queues/${encodeURIComponent(name)}`;
  const shown = usePoll(`queue ${path}`, (signal) => loadQueue(place, path, signal));
  const why = usePoll(`why ${path}`, (signal) => explanationOf(place, path, signal), 5_000);
  const reload = (): void => {
    shown.reload();
    why.reload();
  };
  const { data } = shown;
  return (
    <>
      <p class="crumbs">
        <a href={hrefOfQueues(place)}>{place.namespace}</a> / queue
      </p>
      <h1>
        <Text>{name}</Text>
        {data !== undefined && data.queue.paused_at !== null && <Badge state="paused" />}
        {data !== undefined && data.queue.draining_at !== null && <Badge state="draining" />}
      </h1>
      <Problem error={shown.error} hasData={data !== undefined} />
      {data !== undefined && (
        <>
          {!data.queue.exists && (
            <Empty>It has neither jobs nor settings: the first job or setting creates it.</Empty>
          )}
          {why.data != null && <ExplainBox place={place} explanation={why.data} onChange={reload} />}
          <StateCounts place={place} queue={data.queue} />
          <Types place={place} queue={data.queue} />
          <FairKeysOf place={place} queue={data.queue} onChange={reload} />
          <Pauses place={place} queue={data.queue} onChange={reload} />
          <QueueActions place={place} shown={data} onChange={reload} />
          <History place={place} queue={name} />
          <div class="columns">
            <Settings place={place} shown={data} onChange={reload} />
            <Today place={place} queue={name} />
          </div>
          <QueueWorkers place={place} queue={name} />
        </>
      )}
      <ShellLines lines={linesOf({ method: 'GET', path: v1(place, path) }, place, ['queue', 'show', name])} />
    </>
  );
}

function StateCounts({ place, queue: { queue, counts } }: { place: Place; queue: Queue }) {
  return (
    <ul class="states" aria-label="Jobs by state">
      {STATES.map((state) => (
        <li key={state} class={counts[state] === 0 ? 'dim' : ''}>
          <a href={hrefIn(place, ['jobs'], { queue, state })}>
            <Badge state={state} />
            <strong>{count(counts[state])}</strong>
          </a>
          {state === 'blocked' && counts.stuck > 0 && <span class="bad"> {count(counts.stuck)} stuck</span>}
          {state === 'leased' && counts.stalled > 0 && (
            <span class="bad"> {count(counts.stalled)} stalled</span>
          )}
        </li>
      ))}
    </ul>
  );
}

/** The types with ready jobs, if workers lease the queue by type. */
function Types({ place, queue: { queue, types = [] } }: { place: Place; queue: Queue }) {
  if (types.length === 0) return null;
  return (
    <section aria-label="Types">
      <h2>Types with ready jobs</h2>
      <Table label="Types with ready jobs">
        <thead>
          <tr>
            <th scope="col">Type</th>
            <th scope="col" class="num">
              Ready
            </th>
            <th scope="col">First ready</th>
            <th scope="col">Last lease request</th>
          </tr>
        </thead>
        <tbody>
          {types.map(({ type, ready, first_ready_at, last_request_at }) => (
            <tr key={type}>
              <th scope="row">
                {type === null ? (
                  <span class="dim">no type</span>
                ) : (
                  <a href={hrefIn(place, ['jobs'], { queue, state: 'ready', type })}>
                    <Text>{type}</Text>
                  </a>
                )}
              </th>
              <td class="num">{count(ready)}</td>
              <td>
                <Ago at={first_ready_at} />
              </td>
              <td>
                <Ago at={last_request_at} />
              </td>
            </tr>
          ))}
        </tbody>
      </Table>
    </section>
  );
}

function QueueActions({ place, shown, onChange }: { place: Place; shown: Shown; onChange: () => void }) {
  const { queue } = shown.queue;
  const base = v1(place, `/queues/${encodeURIComponent(queue)}`);
  if (!may('operator')) return null;
  const simple = (verb: 'pause' | 'resume' | 'drain', about: string) => (): void =>
    act({
      ...{ title: `${verb[0]?.toUpperCase() ?? ''}${verb.slice(1)} ${queue}`, about, place, after: onChange },
      call: () => ({ method: 'POST', path: `${base}/${verb}` }),
      cli: () => ['queue', verb, queue],
      done: () => `${queue}: ${verb} done.`,
    });
  const isHeld = shown.queue.paused_at !== null || shown.queue.draining_at !== null;
  return (
    <div class="buttons" role="group" aria-label="Actions">
      {isHeld && (
        <button
          type="button"
          class="primary"
          onClick={simple('resume', 'Ends the pause or the drain: jobs are leased and accepted again.')}
        >
          Resume
        </button>
      )}
      {shown.queue.paused_at === null && (
        <button
          type="button"
          onClick={simple(
            'pause',
            'No job of the queue is leased any more. Publishes and leased jobs continue.',
          )}
        >
          Pause
        </button>
      )}
      <button type="button" onClick={() => pauseSome(place, queue, onChange)}>
        Pause some jobs
      </button>
      {shown.queue.draining_at === null && (
        <button
          type="button"
          onClick={simple('drain', 'Refuses new jobs until the queue is empty. Jobs that are there run.')}
        >
          Drain
        </button>
      )}
      {may('operator') && (
        <button type="button" onClick={() => editSettings(place, shown, onChange)}>
          Settings
        </button>
      )}
      <button type="button" class="danger" onClick={() => purge(place, queue, onChange)}>
        Purge
      </button>
      {shown.queue.exists && shown.queue.length === 0 && (
        <button type="button" class="danger" onClick={() => remove(place, queue, onChange)}>
          Delete
        </button>
      )}
    </div>
  );
}

const perState = ({ jobs }: Purged): string =>
  Object.entries(jobs)
    .filter(([, jobs]) => jobs > 0)
    .map(([state, jobs]) => `${count(jobs)} ${state}`)
    .join(', ') || 'none';

function purge(place: Place, queue: string, onChange: () => void): void {
  const path = v1(place, `/queues/${encodeURIComponent(queue)}/purge`);
  const { sum, more } = callCounter();
  const states = (fields: ReadonlyMap<string, string>): string[] =>
    STATES.filter((state) => fields.get(state) === 'on');
  act({
    ...{ title: `Purge ${queue}`, place, isDanger: true, more, after: onChange },
    about: 'Deletes the jobs in the chosen states. It cannot be undone.',
    dryRun: async () => {
      const body = JSON.stringify({ states: STATES, dry_run: true });
      return `Now in the queue: ${perState((await call<Purged>({ method: 'POST', path, body }, place.pool)).body)}.`;
    },
    form: (
      <fieldset>
        <legend>States</legend>
        {STATES.map((state) => (
          <label key={state} class="check">
            <input type="checkbox" name={state} /> {state}
          </label>
        ))}
      </fieldset>
    ),
    call: (fields) => {
      if (states(fields).length === 0) throw new Error('Choose at least one state.');
      return { method: 'POST', path, body: JSON.stringify({ states: states(fields) }) };
    },
    cli: (fields) => ['queue', 'purge', queue, '--state', states(fields).join(','), '--yes'],
    done: ({ body }) => `${count(sum(body))} jobs of ${queue} were deleted.`,
  });
}

function remove(place: Place, queue: string, onChange: () => void): void {
  act({
    ...{ title: `Delete ${queue}`, place, isDanger: true, after: onChange },
    about: 'Deletes the empty queue with its settings.',
    call: () => ({ method: 'DELETE', path: v1(place, `/queues/${encodeURIComponent(queue)}`) }),
    cli: () => ['queue', 'rm', queue],
    done: () => `${queue} was deleted.`,
  });
}

function editSettings(place: Place, { queue, raw }: Shown, onChange: () => void): void {
  const before = new Map(
    SETTINGS.map((setting) => [setting.name as string, fieldOf(setting, queue, raw.get(setting.name))]),
  );
  act({
    ...{ title: `Save settings of ${queue.queue}`, place, after: onChange },
    about: 'They take effect on all servers at once. Only what you change is sent.',
    form: (
      <div class="form">
        {SETTINGS.map(({ name, label, kind, hint, choices, isForAdmins = false }) => (
          <label key={name}>
            <span>{label}</span>
            {kind === 'choice' || kind === 'flag' ? (
              <select name={name}>
                {(choices ?? ['on', 'off']).map((one) => (
                  <option key={one} value={one} selected={before.get(name) === one}>
                    {one === '' ? 'none' : one}
                  </option>
                ))}
              </select>
            ) : (
              <input
                name={name}
                defaultValue={before.get(name) ?? ''}
                inputMode={kind === 'whole' ? 'numeric' : 'text'}
                autocomplete="off"
                disabled={isForAdmins && !may('admin')}
              />
            )}
            <small>{hint}</small>
          </label>
        ))}
      </div>
    ),
    call: (fields) => {
      const changes = [...changesOf(fields, before)].map(([name, json]) => `"${name}":${json}`);
      return {
        method: 'PATCH',
        path: v1(place, `/queues/${encodeURIComponent(queue.queue)}`),
        body: `{${changes.join(',')}}`,
      };
    },
    cli: (fields) => [
      'queue',
      'set',
      queue.queue,
      ...[...changesOf(fields, before)].map(([name, json]) => `${name}=${json}`),
    ],
    done: () => `The settings of ${queue.queue} are saved.`,
  });
}

function Settings({ place, shown, onChange }: { place: Place; shown: Shown; onChange: () => void }) {
  const { queue, raw } = shown;
  return (
    <section aria-label="Settings">
      <h2>
        Settings{' '}
        {may('operator') && (
          <button type="button" class="quiet" onClick={() => editSettings(place, shown, onChange)}>
            edit
          </button>
        )}
      </h2>
      <Facts
        of={[
          ...SETTINGS.map((setting) => {
            const text = fieldOf(setting, queue, raw.get(setting.name));
            return [
              setting.label,
              text === '' ? <span class="dim">not set</span> : <Text>{text}</Text>,
            ] as const;
          }),
          ['Push', queue.push === null ? null : <a href={hrefIn(place, ['targets'])}>{queue.push.target}</a>],
          [
            'Recurring',
            queue.counts.recurring > 0 ? (
              <a href={hrefIn(place, ['schedules'], { queue: queue.queue })}>
                {count(queue.counts.recurring)}
              </a>
            ) : null,
          ],
        ]}
      />
    </section>
  );
}

function Today({ place, queue }: Props) {
  const path = `/stats${queryOf({ queue })}`;
  const { data, error } = usePoll(`stats ${path}`, (signal) => readIn<Stats>(place, path, signal), 10_000);
  return (
    <section aria-label="Today">
      <h2>Today, UTC</h2>
      {data === undefined ? (
        <Problem error={error} hasData={false} />
      ) : (
        <Facts
          of={[
            [
              'Leases',
              `${count(data.waits.count)}, waited ${data.waits.count === 0 ? '–' : duration(data.waits.mean_ms)} on average`,
            ],
            [
              'Acked',
              `${count(data.runs.count)}, ran ${data.runs.count === 0 ? '–' : duration(data.runs.mean_ms)} on average`,
            ],
            ['Retries', count(data.retries)],
            ['Died', `${count(data.failures)}, still dead ${count(data.still_dead)}`],
          ]}
        />
      )}
      <ShellLines
        lines={linesOf({ method: 'GET', path: v1(place, path) }, place, ['stats', '--queue', queue])}
      />
    </section>
  );
}

type Column = readonly (number | null)[];
interface Points {
  readonly step_ms: number;
  readonly from_at: string;
  readonly published: Column;
  readonly acked: Column;
  readonly failed: Column;
  readonly ready: Column;
  readonly oldest_ready_age_ms: Column;
  readonly wait_p50_ms: Column;
  readonly wait_p95_ms: Column;
  readonly run_p50_ms: Column;
  readonly run_p95_ms: Column;
}

const RANGES = [
  ['last hour', 10_000],
  ['last week', 300_000],
] as const;

/** A server without history has no such call: then there is no chart. */
async function loadPoints(path: string, signal: AbortSignal): Promise<Points | null> {
  try {
    return await read<Points>(path, signal);
  } catch (error) {
    if (error instanceof CallError && error.status === 404) return null;
    throw error;
  }
}

function History({ place, queue }: Props) {
  const [stepMs, setStep] = useState<number>(RANGES[0][1]);
  const pool = place.pool === DEFAULT_POOL ? null : place.pool;
  const path = `/namespaces/${encodeURIComponent(place.namespace)}/queues/${encodeURIComponent(queue)}/history${queryOf({ pool, step_ms: stepMs })}`;
  const polled = usePoll(path, (signal) => loadPoints(path, signal), 10_000);
  if (polled.data === null) return null;
  return (
    <section aria-label="History">
      <h2>
        History{' '}
        {RANGES.map(([label, ms]) => (
          <button
            type="button"
            class="chip"
            key={label}
            aria-pressed={ms === stepMs}
            onClick={() => setStep(ms)}
          >
            {label}
          </button>
        ))}
      </h2>
      <Charts polled={polled} />
      <ShellLines lines={linesOf({ method: 'GET', path }, null, null)} />
    </section>
  );
}

function Charts({ polled: { data, error } }: { polled: Polled<Points | null> }) {
  if (data === undefined || data === null) return <Problem error={error} hasData={false} />;
  const fromMs = Date.parse(data.from_at);
  const perSecond = (values: Column): Column =>
    values.map((value) => (value === null ? null : (value * 1_000) / data.step_ms));
  const chart = (title: string, series: readonly Series[], format: (value: number) => string) => (
    <Chart key={title} title={title} fromMs={fromMs} stepMs={data.step_ms} series={series} format={format} />
  );
  return (
    <div class="charts">
      {chart(
        'Jobs per second',
        [
          { label: 'published', color: '--accent', values: perSecond(data.published) },
          { label: 'acked', color: '--good', values: perSecond(data.acked) },
          { label: 'failed', color: '--bad', values: perSecond(data.failed) },
        ],
        rate,
      )}
      {chart('Ready jobs', [{ label: 'ready', color: '--accent', values: data.ready }], (value) =>
        count(value),
      )}
      {chart(
        'Wait: from publish to lease',
        [
          { label: 'median', color: '--accent', values: data.wait_p50_ms },
          { label: '95 %', color: '--warn', values: data.wait_p95_ms },
        ],
        duration,
      )}
      {chart(
        'Run: from lease to ack',
        [
          { label: 'median', color: '--accent', values: data.run_p50_ms },
          { label: '95 %', color: '--warn', values: data.run_p95_ms },
        ],
        duration,
      )}
    </div>
  );
}

function QueueWorkers({ place, queue }: Props) {
  const path = '/workers?limit=200';
  const { data } = usePoll(
    `workers of ${queue}`,
    (signal) => readIn<Page<Worker>>(place, path, signal),
    5_000,
  );
  const workers = (data?.items ?? []).filter(({ queues }) => queues?.includes(queue) === true);
  return (
    <section aria-label="Workers of the queue">
      <h2>Workers</h2>
      {data?.next_cursor != null && (
        <p class="dim">Only the first 200 workers of the namespace are looked at here.</p>
      )}
      {workers.length === 0 ? (
        <Empty>
          No worker session names this queue. Workers without sessions, as on the lmstfy API, are not listed.
        </Empty>
      ) : (
        <Table label="Workers of the queue">
          <thead>
            <tr>
              <th scope="col">Worker</th>
              <th scope="col">Host</th>
              <th scope="col" class="num">
                Jobs
              </th>
              <th scope="col" class="num">
                Slots
              </th>
              <th scope="col">Heartbeat</th>
            </tr>
          </thead>
          <tbody>
            {workers.map((worker) => (
              <tr key={worker.name}>
                <th scope="row">
                  <a href={hrefIn(place, ['jobs'], { worker: worker.name })}>
                    <Text>{worker.name}</Text>
                  </a>
                  {worker.lost && <Badge state="lost" />}
                  {worker.quiet && <Badge state="quiet" />}
                </th>
                <td>
                  <Text>{worker.host ?? ''}</Text>
                </td>
                <td class="num">{count(worker.jobs_at_hand ?? worker.leased)}</td>
                <td class="num">{count(worker.concurrency)}</td>
                <td>
                  <Ago at={worker.heartbeat_at} />
                </td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
    </section>
  );
}
