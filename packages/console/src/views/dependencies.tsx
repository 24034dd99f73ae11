import { readIn } from '../lib/api.js';
import { count } from '../lib/format.js';
import { queryOf } from '../lib/lines.js';
import type { Place } from '../lib/place.js';
import { usePoll } from '../lib/poll.js';
import { hrefIn } from '../lib/router.js';
import type { Job, ListedJob, Page } from '../lib/types.js';
import { Badge, Text } from '../ui/parts.jsx';
import { DependencyGraph, type GraphJob, MOST_SHOWN } from '../ui/graph.jsx';

/** What a job waits for, and what waits for it: a picture of the first ones, and the list of all. */
export function Dependencies({ place, job }: { place: Place; job: Job }) {
  const { depends_on: before, dependents: after } = job;
  const shown = [...before.slice(0, MOST_SHOWN), ...after.slice(0, MOST_SHOWN)];
  const path = `/jobs${queryOf({ ids: [...new Set(shown)].join(',') })}`;
  const { data } = usePoll(
    shown.length === 0 ? null : path,
    (signal) => readIn<Page<ListedJob>>(place, path, signal),
    3_000,
  );
  if (shown.length === 0) return null;
  const states = new Map(data?.items.map(({ id, state }) => [id, state]));
  const jobOf = (id: string): GraphJob => ({
    ...{ id, address: hrefIn(place, ['jobs', id]) },
    state: data === undefined ? '' : (states.get(id) ?? null),
    failed: Object.hasOwn(job.failed_dependencies, id) ? job.failed_dependencies[id] : undefined,
  });
  return (
    <section aria-label="Dependencies">
      <h2>Dependencies</h2>
      <DependencyGraph
        {...{ id: job.id, state: job.state, before: before.map(jobOf), after: after.map(jobOf) }}
      />
      <details>
        <summary>As a list: {count(before.length + after.length)} jobs</summary>
        <List title="It waits for" jobs={before.map(jobOf)} />
        <List title="These wait for it" jobs={after.map(jobOf)} />
      </details>
    </section>
  );
}

function List({ title, jobs }: { title: string; jobs: readonly GraphJob[] }) {
  if (jobs.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      <ul>
        {jobs.map(({ id, address, state, failed }) => (
          <li key={id}>
            <a class="id" href={address}>
              <Text>{id}</Text>
            </a>{' '}
            {failed !== undefined ? <span class="bad">{failed}</span> : state && <Badge state={state} />}
          </li>
        ))}
      </ul>
    </>
  );
}
