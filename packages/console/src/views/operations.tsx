import { readIn } from '../lib/api.js';
import { count } from '../lib/format.js';
import { linesOf } from '../lib/lines.js';
import { type Place, v1 } from '../lib/place.js';
import { usePoll } from '../lib/poll.js';
import { hrefIn } from '../lib/router.js';
import { may } from '../lib/session.js';
import type { Page } from '../lib/types.js';
import { act } from '../ui/action.jsx';
import type { Operation } from '../ui/operation.jsx';
import { Ago, Badge, Empty, Problem, ShellLines, Table, Text } from '../ui/parts.jsx';

/** What was done to many jobs at once: progress, stop, undo. */
export function OperationsView({ place }: { place: Place }) {
  const path = '/operations?limit=100';
  const { data, error, reload } = usePoll(
    'operations',
    (signal) => readIn<Page<Operation>>(place, path, signal),
    1_000,
  );
  return (
    <>
      <h1>Operations</h1>
      <p class="dim">
        One action over all jobs that match a filter. Start one from the jobs or the dead letters.
      </p>
      <Problem error={error} hasData={data !== undefined} />
      {data?.items.length === 0 && <Empty>No operation is kept.</Empty>}
      {data !== undefined && data.items.length > 0 && (
        <Table label="Operations">
          <thead>
            <tr>
              <th scope="col">Operation</th>
              <th scope="col">Jobs that match</th>
              <th scope="col">Progress</th>
              <th scope="col" class="num">
                Done
              </th>
              <th scope="col" class="num">
                Refused
              </th>
              <th scope="col">Began</th>
              <th scope="col">Actions</th>
            </tr>
          </thead>
          <tbody>
            {data.items.map((one) => (
              <OperationLine key={one.id} place={place} operation={one} onChange={reload} />
            ))}
          </tbody>
        </Table>
      )}
      <ShellLines lines={linesOf({ method: 'GET', path: v1(place, path) }, place, ['operation', 'ls'])} />
    </>
  );
}

/** How much of it is done, 0 … 1; undefined: it runs, and the number of jobs to look at is not known. */
function partOf({ state, looked, to_look }: Operation): number | undefined {
  if (state !== 'running') return 1;
  if (to_look === null) return undefined;
  return to_look === 0 ? 0 : Math.min(1, looked / to_look);
}

function OperationLine({
  place,
  operation,
  onChange,
}: {
  place: Place;
  operation: Operation;
  onChange: () => void;
}) {
  const { id, action, dry_run, filter, state, matched, done, failed, skipped, undo } = operation;
  const part = partOf(operation);
  const textOf = (all: Operation['refusals']): string =>
    all.map(({ reason, jobs }) => `${count(jobs)} ${reason}`).join(', ');
  const refused = textOf(operation.refusals);
  const isUndone = undo?.state === 'running';
  const stop = (verb: 'stop' | 'undo', about: string): void =>
    act({
      ...{ title: `${verb === 'stop' ? 'Stop' : 'Undo'} operation ${id}`, about, place, after: onChange },
      call: () => ({ method: 'POST', path: v1(place, `/operations/${id}/${verb}`) }),
      cli: () => (verb === 'stop' ? ['operation', 'stop', id] : null),
      done: () => (verb === 'stop' ? 'It is stopped.' : 'The undo has begun.'),
    });
  return (
    <tr>
      <th scope="row">
        {action}
        {dry_run && <span class="dim"> dry run</span>}
      </th>
      <td>
        <Text>{JSON.stringify(filter)}</Text>
      </td>
      <td>
        <progress
          {...(part === undefined ? {} : { value: part })}
          aria-label={`Progress of operation ${id}`}
        />{' '}
        {state}
        {operation.message !== null && <Text>{`: ${operation.message}`}</Text>}
        {undo != null && (
          <div class="dim" title={textOf([...undo.refusals, ...undo.incomplete])}>
            undo: {undo.state}
            {undo.restored > 0 && `, ${count(undo.restored)} of ${count(undo.jobs)} restored`}
            {undo.failed > 0 && `, ${count(undo.failed)} cannot come back`}
            {isUndone && (
              <progress value={(undo.restored + undo.failed) / Math.max(undo.jobs, 1)} aria-label="Undo" />
            )}
            {undo.message !== null && <Text>{`: ${undo.message}`}</Text>}
          </div>
        )}
      </td>
      <td class="num">{count(dry_run ? matched : done)}</td>
      <td class="num">
        {count(failed + skipped)}
        {refused !== '' && (
          <div class="dim">
            <Text>{refused}</Text>
          </div>
        )}
      </td>
      <td>
        <Ago at={operation.created_at} />
      </td>
      <td class="buttons">
        {(state === 'running' || isUndone) && may('operator') && (
          <button type="button" onClick={() => stop('stop', 'What was done so far stays.')}>
            Stop
          </button>
        )}
        {state !== 'running' && (undo?.state === 'kept' || undo?.state === 'stopped') && may('operator') && (
          <button type="button" onClick={() => stop('undo', 'Restores the jobs as they were.')}>
            Undo
          </button>
        )}
        {operation.samples[0] !== undefined && (
          <a href={hrefIn(place, ['jobs', operation.samples[0].id])}>a sample</a>
        )}
        {state !== 'running' && <Badge state={state === 'done' ? 'done' : 'stopping'}>{state}</Badge>}
      </td>
    </tr>
  );
}
