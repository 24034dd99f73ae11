import { readIn } from '../lib/api.js';
import { count } from '../lib/format.js';
import { linesOf, queryOf } from '../lib/lines.js';
import { type Place, v1 } from '../lib/place.js';
import { usePoll } from '../lib/poll.js';
import { hrefIn, route } from '../lib/router.js';
import { may } from '../lib/session.js';
import type { Page, Worker } from '../lib/types.js';
import { act } from '../ui/action.jsx';
import { Ago, Badge, Empty, FirstPage, Pages, Problem, ShellLines, Table, Text } from '../ui/parts.jsx';

/** The workers of a namespace, and what they have at hand. */
export function WorkersView({ place }: { place: Place }) {
  const path = `/workers${queryOf({ limit: 100, cursor: route.value.query.get('cursor') })}`;
  const { data, error, reload } = usePoll(path, (signal) => readIn<Page<Worker>>(place, path, signal));
  return (
    <>
      <h1>Workers</h1>
      <Problem error={error} hasData={data !== undefined} />
      {data?.items.length === 0 && (
        <Empty>
          No worker with a name was seen within a day. A worker gives its name as `worker` of its lease
          requests.
        </Empty>
      )}
      {data !== undefined && data.items.length > 0 && (
        <Table label="Workers">
          <thead>
            <tr>
              <th scope="col">Worker</th>
              <th scope="col">Process</th>
              <th scope="col">Queues</th>
              <th scope="col" class="num">
                Jobs
              </th>
              <th scope="col" class="num">
                Slots
              </th>
              <th scope="col" class="num">
                Stalled
              </th>
              <th scope="col">Seen</th>
              <th scope="col">Actions</th>
            </tr>
          </thead>
          <tbody>
            {data.items.map((worker) => (
              <WorkerLine key={worker.name} place={place} worker={worker} onChange={reload} />
            ))}
          </tbody>
        </Table>
      )}
      <Pages next={data?.next_cursor ?? null}>
        <FirstPage />
      </Pages>
      <ShellLines lines={linesOf({ method: 'GET', path: v1(place, path) }, place, ['worker', 'ls'])} />
    </>
  );
}

function WorkerLine({ place, worker, onChange }: { place: Place; worker: Worker; onChange: () => void }) {
  const { name, host, pid, version, language } = worker;
  const isSession = worker.heartbeat_at !== null;
  const flag = (verb: 'quiet' | 'stop', about: string): void =>
    act({
      ...{
        title: `${verb === 'quiet' ? 'Quiet' : 'Stop'} ${name}`,
        about,
        place,
        after: onChange,
        isDanger: verb === 'stop',
      },
      call: () => ({ method: 'POST', path: v1(place, `/workers/${encodeURIComponent(name)}/${verb}`) }),
      cli: () => ['worker', verb, name],
      done: () => `${name} gets the request with its next heartbeat.`,
    });
  const program = [language, version].filter((one) => one !== null).join(' ');
  return (
    <tr>
      <th scope="row">
        <a href={hrefIn(place, ['jobs'], { worker: name })}>
          <Text>{name}</Text>
        </a>
        {worker.lost && <Badge state="lost" />}
        {worker.stop ? <Badge state="stopping" /> : worker.quiet && <Badge state="quiet" />}
      </th>
      <td>
        <Text>{[host, pid === null ? null : `pid ${pid}`].filter((one) => one !== null).join(', ')}</Text>
        <div class="dim">
          <Text>{program}</Text>
        </div>
      </td>
      <td>
        {(worker.queues ?? []).map((queue) => (
          <a class="tag" key={queue} href={hrefIn(place, ['queues', queue])}>
            {queue}
          </a>
        ))}
      </td>
      <td class="num">{count(worker.jobs_at_hand ?? worker.leased)}</td>
      <td class="num">{count(worker.concurrency)}</td>
      <td class={`num ${worker.stalled > 0 ? 'bad' : 'dim'}`}>{count(worker.stalled)}</td>
      <td>
        <Ago at={worker.heartbeat_at ?? worker.seen_at} />
      </td>
      <td class="buttons">
        {isSession && may('operator') && !worker.lost && (
          <>
            {!worker.quiet && (
              <button
                type="button"
                onClick={() =>
                  flag(
                    'quiet',
                    'It leases no more jobs, and finishes those that it has. This cannot be taken back.',
                  )
                }
              >
                Quiet
              </button>
            )}
            {!worker.stop && (
              <button
                type="button"
                class="danger"
                onClick={() => flag('stop', 'The process shuts down, as SIGTERM does.')}
              >
                Stop
              </button>
            )}
          </>
        )}
      </td>
    </tr>
  );
}
