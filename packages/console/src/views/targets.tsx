import { useState } from 'preact/hooks';
import { CallError, readIn } from '../lib/api.js';
import { duration } from '../lib/format.js';
import { linesOf } from '../lib/lines.js';
import { type Place, v1 } from '../lib/place.js';
import { usePoll } from '../lib/poll.js';
import { visible } from '../lib/raw-json.js';
import { hrefIn } from '../lib/router.js';
import { may } from '../lib/session.js';
import type { Page, Target, TargetTest } from '../lib/types.js';
import { act } from '../ui/action.jsx';
import { Ago, Badge, Empty, Problem, ShellLines, Table, Text } from '../ui/parts.jsx';

/** A request to a target may take ten minutes, and the server some seconds more. */
const TEST_LIMIT_MS = 610_000;

/** Where the server pushes jobs to. */
export function TargetsView({ place }: { place: Place }) {
  const path = '/targets?limit=1000';
  const { data, error, reload } = usePoll('targets', (signal) => readIn<Page<Target>>(place, path, signal));
  const [test, setTest] = useState<{ name: string; answer: TargetTest } | null>(null);
  const isOff = error instanceof CallError && error.code === 'push_disabled';
  return (
    <>
      <h1>Push targets</h1>
      {isOff ? (
        <Empty>Push is off on this server: push.enabled turns it on.</Empty>
      ) : (
        <Problem error={error} hasData={data !== undefined} />
      )}
      {data?.items.length === 0 && (
        <Empty>
          No target. Make one: <code>pumphouse target set billing https://billing.example/hooks</code>
        </Empty>
      )}
      {test !== null && <TestAnswer {...test} />}
      {data !== undefined && data.items.length > 0 && (
        <Table label="Targets">
          <thead>
            <tr>
              <th scope="col">Target</th>
              <th scope="col">Breaker</th>
              <th scope="col">Queues</th>
              <th scope="col">Request</th>
              <th scope="col">Actions</th>
            </tr>
          </thead>
          <tbody>
            {data.items.map((target) => (
              <TargetLine
                key={target.name}
                place={place}
                target={target}
                onChange={reload}
                onTest={(answer) => setTest({ name: target.name, answer })}
              />
            ))}
          </tbody>
        </Table>
      )}
      <ShellLines lines={linesOf({ method: 'GET', path: v1(place, path) }, place, ['target', 'ls'])} />
    </>
  );
}

function TestAnswer({ name, answer }: { name: string; answer: TargetTest }) {
  return (
    <section class="explain calm" aria-label="Test request" role="status">
      <p class="sentence">
        {name} answered {answer.status ?? `nothing: ${answer.problem ?? ''}`} in {duration(answer.took_ms)}; a
        job would get: {answer.action}.
      </p>
      {answer.message !== null && <p>{visible(answer.message)}</p>}
      {answer.body !== '' && (
        <pre tabIndex={0} aria-label="Body of the answer">
          {visible(answer.body)}
        </pre>
      )}
    </section>
  );
}

interface LineProps {
  readonly place: Place;
  readonly target: Target;
  readonly onChange: () => void;
  readonly onTest: (answer: TargetTest) => void;
}

function TargetLine(props: LineProps) {
  const { place, target } = props;
  const { breaker, paused_at, pause_reason } = target;
  return (
    <tr>
      <th scope="row">
        {target.name}
        {paused_at !== null && (
          <Badge state="paused">{pause_reason === 'gone' ? 'paused: it answered 410' : 'paused'}</Badge>
        )}
        <div class="dim">
          <Text>{target.url}</Text>
        </div>
      </th>
      <td>
        <Badge state={breaker.state} />
        {breaker.open_until !== null && (
          <>
            {' '}
            until <Ago at={breaker.open_until} />
          </>
        )}
        {target.origin_breakers.map(({ origin, state }) => (
          <div key={origin}>
            <Badge state={state} /> <Text>{origin}</Text>
          </div>
        ))}
      </td>
      <td>
        {target.queues.map((queue) => (
          <a class="tag" key={queue} href={hrefIn(place, ['queues', queue])}>
            {queue}
          </a>
        ))}
      </td>
      <td>
        {target.method}, at most {duration(target.timeout_ms)}
      </td>
      <td class="buttons">{may('operator') && <TargetActions {...props} />}</td>
    </tr>
  );
}

function TargetActions({ place, target: { name, paused_at, breaker }, onChange, onTest }: LineProps) {
  const path = (verb: string): string => v1(place, `/targets/${encodeURIComponent(name)}/${verb}`);
  const simple = (verb: 'pause' | 'resume', about: string): void =>
    act({
      ...{ title: `${verb === 'pause' ? 'Pause' : 'Resume'} ${name}`, about, place, after: onChange },
      call: () => ({ method: 'POST', path: path(verb) }),
      cli: () => ['target', verb, name],
      done: () => `${name}: ${verb} done.`,
    });
  const test = (): void =>
    act({
      ...{
        title: `Test ${name}`,
        about: 'Sends one request with an empty job, and shows what comes back. No job changes.',
        place,
        limitMs: TEST_LIMIT_MS,
      },
      call: () => ({ method: 'POST', path: path('test') }),
      cli: () => ['target', 'test', name],
      done: ({ body }) => `${name} answered ${(body as TargetTest).status ?? 'nothing'}.`,
      after: ({ body }) => onTest(body as TargetTest),
    });
  return (
    <>
      <button type="button" onClick={test}>
        Test
      </button>
      {paused_at === null ? (
        <button
          type="button"
          onClick={() => simple('pause', 'No more jobs are sent to it; requests that run go on.')}
        >
          Pause
        </button>
      ) : null}
      {(paused_at !== null || breaker.state === 'open') && (
        <button
          type="button"
          onClick={() => simple('resume', 'Ends the pause, and closes its circuit breaker.')}
        >
          Resume
        </button>
      )}
    </>
  );
}
