import { call, readIn } from '../lib/api.js';
import { count } from '../lib/format.js';
import { linesOf, queryOf } from '../lib/lines.js';
import { type Place, v1 } from '../lib/place.js';
import { usePoll } from '../lib/poll.js';
import { hrefIn, route } from '../lib/router.js';
import { may } from '../lib/session.js';
import { act } from '../ui/action.jsx';
import { startOperation } from '../ui/operation.jsx';
import { Empty, Pages, Problem, ShellLines, Table, Text } from '../ui/parts.jsx';

interface Group {
  readonly name: string;
  readonly jobs: number;
}
interface Groups {
  readonly items: readonly Group[];
  readonly next_cursor: string | null;
}

/** Dead jobs by the group of their failure. */
export function DeadView({ place }: { place: Place }) {
  const cursor = route.value.query.get('cursor');
  const path = `/failure-groups${queryOf({ cursor })}`;
  const { data, error, reload } = usePoll(path, (signal) => readIn<Groups>(place, path, signal), 5_000);
  return (
    <>
      <h1>Dead letters</h1>
      <p class="dim">
        Jobs that used up their tries or failed for good, by the group of their failure. Jobs without a
        history are in no group: <a href={hrefIn(place, ['jobs'], { state: 'dead' })}>all dead jobs</a>.
      </p>
      <Problem error={error} hasData={data !== undefined} />
      {data?.items.length === 0 && <Empty>No dead job has a failure group.</Empty>}
      {data !== undefined && data.items.length > 0 && (
        <Table label="Failure groups">
          <thead>
            <tr>
              <th scope="col">Group</th>
              <th scope="col" class="num">
                Jobs
              </th>
              <th scope="col">Actions</th>
            </tr>
          </thead>
          <tbody>
            {data.items.map((group) => (
              <GroupLine key={group.name} place={place} group={group} onChange={reload} />
            ))}
          </tbody>
        </Table>
      )}
      {data?.next_cursor != null && <Pages next={data.next_cursor} />}
      <ShellLines lines={linesOf({ method: 'GET', path: v1(place, path) }, place, ['dead', 'groups'])} />
    </>
  );
}

function GroupLine({ place, group, onChange }: { place: Place; group: Group; onChange: () => void }) {
  const { name, jobs } = group;
  return (
    <tr>
      <th scope="row">
        <a href={hrefIn(place, ['jobs'], { state: 'dead', group: name })}>
          <Text>{name}</Text>
        </a>
      </th>
      <td class="num strong">{count(jobs)}</td>
      <td class="buttons">
        {may('operator') && (
          <>
            <button type="button" onClick={() => respawn(place, name, onChange)}>
              Respawn
            </button>
            <button
              type="button"
              class="quiet"
              onClick={() => startOperation(place, 'respawn', { group: name, state: ['dead'] })}
            >
              at a rate
            </button>
          </>
        )}
      </td>
    </tr>
  );
}

interface Outcome {
  readonly jobs: number;
  readonly next_cursor: string | null;
}

/** Counts all pages of a dry run. */
async function counted(place: Place, body: object): Promise<number> {
  let sum = 0;
  let cursor: string | null = null;
  do {
    const sent: object = { ...body, dry_run: true, ...(cursor === null ? {} : { cursor }) };
    const made = { method: 'POST', path: v1(place, '/dead-letter/respawn'), body: JSON.stringify(sent) };
    const answer: Outcome = (await call<Outcome>(made, place.pool)).body;
    sum += answer.jobs;
    cursor = answer.next_cursor;
  } while (cursor !== null);
  return sum;
}

function respawn(place: Place, group: string, onChange: () => void): void {
  const path = v1(place, '/dead-letter/respawn');
  let sum = 0;
  act({
    ...{ title: `Respawn the group ${group}`, place, after: onChange },
    about: 'The dead jobs of the group are ready again in their queues, with all their tries.',
    dryRun: async () => `${count(await counted(place, { filter: { group } }))} jobs now.`,
    call: () => ({ method: 'POST', path, body: JSON.stringify({ filter: { group } }) }),
    cli: () => ['dead', 'respawn', '--group', group, '--yes'],
    done: ({ body }) => `${count(sum + (body as Outcome).jobs)} jobs are ready again.`,
    more: ({ body }) => {
      const { jobs, next_cursor } = body as Outcome;
      if (next_cursor === null) return undefined;
      sum += jobs;
      return { method: 'POST', path, body: JSON.stringify({ filter: { group }, cursor: next_cursor }) };
    },
  });
}
