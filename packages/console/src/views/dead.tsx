import { readIn } from '../lib/api.js';
import { count } from '../lib/format.js';
import { linesOf, queryOf } from '../lib/lines.js';
import { type Place, v1 } from '../lib/place.js';
import { usePoll } from '../lib/poll.js';
import { hrefIn, route } from '../lib/router.js';
import { may } from '../lib/session.js';
import type { FailureGroup, Page } from '../lib/types.js';
import { startOperation } from '../ui/operation.jsx';
import { Ago, Empty, FirstPage, Pages, Problem, ShellLines, Table, Text } from '../ui/parts.jsx';
import { Spark } from '../ui/spark.jsx';

/** Groups of a page: Redis counts the deaths of each hour for each of them. */
const PAGE = 50;
/** Characters of a message that are shown. */
const MOST_CHARACTERS = 300;

/** Dead jobs by the group of their failure. */
export function DeadView({ place }: { place: Place }) {
  const path = `/failure-groups${queryOf({ limit: PAGE, cursor: route.value.query.get('cursor') })}`;
  const { data, error } = usePoll(path, (signal) => readIn<Page<FailureGroup>>(place, path, signal), 5_000);
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
              <th scope="col">First</th>
              <th scope="col">Last</th>
              <th scope="col">Last 24 hours</th>
              <th scope="col">The last one</th>
              {may('operator') && <th scope="col">Actions</th>}
            </tr>
          </thead>
          <tbody>
            {data.items.map((group) => (
              <GroupLine key={group.name} place={place} group={group} />
            ))}
          </tbody>
        </Table>
      )}
      <Pages next={data?.next_cursor ?? null}>
        <FirstPage />
      </Pages>
      <ShellLines lines={linesOf({ method: 'GET', path: v1(place, path) }, place, ['dead', 'groups'])} />
    </>
  );
}

function GroupLine({ place, group }: { place: Place; group: FailureGroup }) {
  const { name, jobs, first_at, last_at, sample, trend = [] } = group;
  const inDay = trend.reduce((sum, one) => sum + one, 0);
  return (
    <tr>
      <th scope="row">
        <a href={hrefIn(place, ['jobs'], { state: 'dead', group: name })}>
          <Text>{name}</Text>
        </a>
      </th>
      <td class="num strong">{count(jobs)}</td>
      <td>
        <Ago at={first_at} />
      </td>
      <td>
        <Ago at={last_at} />
      </td>
      <td>
        <Spark
          done={trend.map(() => 0)}
          failed={trend}
          label={`${count(inDay)} died within 24 hours, ${count(trend.at(-1))} of them in this hour`}
        />
      </td>
      <td class="now">{sample != null && <Sample place={place} sample={sample} />}</td>
      {may('operator') && (
        <td class="buttons">
          <button
            type="button"
            onClick={() =>
              startOperation(place, 'respawn', { group: name, state: ['dead'] }, `the group ${name}`)
            }
          >
            Respawn
          </button>
        </td>
      )}
    </tr>
  );
}

function Sample({ place, sample }: { place: Place; sample: NonNullable<FailureGroup['sample']> }) {
  const { id, queue, message } = sample;
  return (
    <>
      <a class="id" href={hrefIn(place, ['jobs', id])}>
        <Text>{id}</Text>
      </a>{' '}
      <span class="dim">
        in <Text>{queue}</Text>
      </span>
      <div class="lines">
        {message === null ? (
          <span class="dim">withheld: your role does not show messages</span>
        ) : (
          <Text>{message.slice(0, MOST_CHARACTERS)}</Text>
        )}
      </div>
    </>
  );
}
