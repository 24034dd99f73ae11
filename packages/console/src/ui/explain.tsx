import { callCounter, remedyText } from '../lib/answers.js';
import { call, CallError } from '../lib/api.js';
import type { Call } from '../lib/lines.js';
import type { Place } from '../lib/place.js';
import { visible } from '../lib/raw-json.js';
import { may } from '../lib/session.js';
import type { Explanation, Remedy } from '../lib/types.js';
import { act } from './action.jsx';
import { Ago, CodeLine } from './parts.jsx';

/** Causes in which nothing is wrong. */
const CALM = new Set(['flowing', 'empty', 'done', 'leased', 'behind', 'scheduled', 'cancelled', 'debounce']);
/** Calls of a worker: an account may not make them. */
const OF_WORKERS = /\/leases( |$)/;

/** The sentence that says why a job or a queue does not move, with what to do about it. */
export function ExplainBox(props: {
  readonly place: Place;
  readonly explanation: Explanation;
  readonly onChange: () => void;
}) {
  const { place, explanation, onChange } = props;
  const { cause, message, since, next_at, remedies, also } = explanation;
  return (
    <section class={`explain ${CALM.has(cause) ? 'calm' : 'warn'}`} aria-label="Why">
      <p class="sentence">{visible(message)}</p>
      <p class="dim">
        {cause}
        {since !== null && (
          <>
            {' '}
            · since <Ago at={since} />
          </>
        )}
        {next_at !== null && (
          <>
            {' '}
            · next <Ago at={next_at} />
          </>
        )}
      </p>
      {also.length > 0 && (
        <ul class="also">
          {also.map((one) => (
            <li key={one.cause}>{visible(one.message)}</li>
          ))}
        </ul>
      )}
      {remedies.map((remedy) => (
        <RemedyLine key={remedy.call} place={place} remedy={remedy} onChange={onChange} />
      ))}
    </section>
  );
}

/** `POST /v1/demo/queues/mail/resume {"a":1}` as a call; undefined for another namespace or another form. */
export function callOfRemedy(text: string, place: Place): Call | undefined {
  const match = /^(GET|POST|PUT|PATCH|DELETE) (\/v1\/[^ ]+)(?: (.+))?$/s.exec(text);
  const [, method, path, body] = match ?? [];
  if (method === undefined || path === undefined) return undefined;
  if (!path.startsWith(`/v1/${encodeURIComponent(place.namespace)}/`) || path.includes('..'))
    return undefined;
  return { method, path, body };
}

function RemedyLine({ place, remedy, onChange }: { place: Place; remedy: Remedy; onChange: () => void }) {
  const found = OF_WORKERS.test(remedy.call) ? undefined : callOfRemedy(remedy.call, place);
  const title = `${remedy.about[0]?.toUpperCase() ?? ''}${remedy.about.slice(1)}`;
  const run = (): void => {
    if (found === undefined) return;
    const { sum, more } = callCounter();
    act({
      ...{ title, place, about: `The call: ${remedy.call}`, more, after: onChange },
      call: () => found,
      // As the server has quoted it.
      cli: () => remedy.command,
      done: ({ body }) => remedyText(remedy.about, sum(body)),
    });
  };
  return (
    <div class="remedy">
      {found !== undefined && may('operator') ? (
        <button type="button" onClick={run}>
          {title}
        </button>
      ) : (
        <span>{title}</span>
      )}
      {remedy.command !== null && <CodeLine text={remedy.command} what="the pumphouse line" />}
    </div>
  );
}

/** An explanation, or nothing if the job is gone or a server of an earlier version does not know the call. */
export async function explanationOf(
  place: Place,
  path: string,
  signal: AbortSignal,
): Promise<Explanation | null> {
  try {
    const namespace = encodeURIComponent(place.namespace);
    const made = { method: 'GET', path: `/v1/${namespace}${path}/explain` };
    return (await call<Explanation>(made, place.pool, signal)).body;
  } catch (error) {
    if (error instanceof CallError && error.status === 404) return null;
    throw error;
  }
}
