import { call, CallError } from '../lib/api.js';
import { clock, count, duration, local, utc } from '../lib/format.js';
import { linesOf } from '../lib/lines.js';
import { type Place, v1 } from '../lib/place.js';
import { now, usePoll } from '../lib/poll.js';
import { rawMembers, visible } from '../lib/raw-json.js';
import { hrefIn, hrefOfQueues } from '../lib/router.js';
import { failuresOf, segmentsOf } from '../lib/timeline.js';
import type { Job, Step } from '../lib/types.js';
import { Bytes } from '../ui/bytes.jsx';
import { ExplainBox, explanationOf } from '../ui/explain.jsx';
import { Json } from '../ui/json.jsx';
import { Ago, Badge, Facts, Problem, ShellLines, Table, Text } from '../ui/parts.jsx';
import { TimelinePicture } from '../ui/timeline.jsx';
import { Dependencies } from './dependencies.jsx';
import { JobActions } from './job-actions.jsx';

/** A job, with the text of each of its members as the server wrote it. */
export interface ShownJob {
  readonly job: Job;
  readonly raw: ReadonlyMap<string, string>;
}

const ENDED = new Set(['dead', 'done', 'cancelled']);

async function loadJob(place: Place, path: string, signal: AbortSignal): Promise<ShownJob> {
  const { body, text } = await call<Job>({ method: 'GET', path: v1(place, path) }, place.pool, signal);
  return { job: body, raw: rawMembers(text) };
}

export function JobView({ place, id }: { place: Place; id: string }) {
  const path = `/jobs/${encodeURIComponent(id)}`;
  const shown = usePoll(`job ${path}`, (signal) => loadJob(place, path, signal));
  const why = usePoll(`why ${path}`, (signal) => explanationOf(place, path, signal), 3_000);
  const reload = (): void => {
    shown.reload();
    why.reload();
  };
  const isGone = shown.error instanceof CallError && shown.error.status === 404;
  return (
    <>
      <p class="crumbs">
        <a href={hrefOfQueues(place)}>{place.namespace}</a> / <a href={hrefIn(place, ['jobs'])}>jobs</a>
      </p>
      <h1 class="id">
        <Text>{id}</Text> {shown.data !== undefined && !isGone && <Badge state={shown.data.job.state} />}
      </h1>
      {isGone ? (
        <p class="empty">
          There is no such job{shown.data === undefined ? '' : ' any more'}. A job that is acknowledged,
          deleted or expired leaves no record without <code>retention_ms</code>.
        </p>
      ) : (
        <Problem error={shown.error} hasData={shown.data !== undefined} />
      )}
      {shown.data !== undefined && (
        <>
          {!isGone && why.data != null && (
            <ExplainBox place={place} explanation={why.data} onChange={reload} />
          )}
          {!isGone && <JobActions place={place} shown={shown.data} onChange={reload} />}
          <Body place={place} shown={shown.data} />
        </>
      )}
      <ShellLines lines={linesOf({ method: 'GET', path: v1(place, path) }, place, ['job', 'show', id])} />
    </>
  );
}

function Body({ place, shown }: { place: Place; shown: ShownJob }) {
  const { job } = shown;
  const failures = failuresOf(job.timeline);
  return (
    <>
      {job.timeline.length > 0 ? (
        <TimelinePicture
          segments={segmentsOf(job, now.value)}
          end={ENDED.has(job.state) ? job.state : null}
        />
      ) : (
        <p class="dim">
          No timeline: it is a job without a history. Publish with a type or "history": true to get one.
        </p>
      )}
      {failures.length > 0 || job.failure !== null ? <Failures job={job} failures={failures} /> : null}
      <div class="columns">
        <section aria-label="Data">
          <h2>Data</h2>
          <Redacted of={job.redacted} />
          <Payload
            raw={shown.raw.get('data')}
            base64={job.data_base64}
            type={job.content_type}
            name={`${job.id}.data`}
            what="The data of the job"
          />
          {job.result !== null && (
            <>
              <h2>Result</h2>
              <Redacted of={job.result.redacted} />
              <Payload
                {...{
                  raw: rawMembers(shown.raw.get('result') ?? '').get('data'),
                  base64: job.result.data_base64,
                  type: job.result.content_type,
                }}
                {...{ name: `${job.id}.result`, what: 'The result of the job' }}
              />
            </>
          )}
        </section>
        <JobFacts place={place} job={job} raw={shown.raw} />
      </div>
      <Dependencies place={place} job={job} />
      <Steps steps={job.timeline} />
    </>
  );
}

function Redacted({ of }: { of: readonly string[] | undefined }) {
  return of === undefined ? null : <p class="dim">Some values are redacted: your role does not show them.</p>;
}

function Payload({
  raw,
  base64,
  type,
  name,
  what,
}: {
  raw: string | undefined;
  base64: string | undefined;
  type: string;
  name: string;
  what: string;
}) {
  if (raw !== undefined) return <Json text={raw} what={what} name={name} />;
  if (base64 !== undefined) return <Bytes base64={base64} type={type} name={name} what={what} />;
  return <p class="dim">Withheld: your role does not show data.</p>;
}

function Failures({ job, failures }: { job: Job; failures: readonly Step[] }) {
  const [newest, ...others] = failures;
  const { failure } = job;
  const group = failure?.group ?? String(newest?.group ?? newest?.what ?? '');
  const message = failure?.message ?? String(newest?.message ?? '');
  return (
    <section class="failures" aria-label="Failures">
      <h2>Failures, newest first</h2>
      <article>
        <p>
          <strong class="bad">
            <Text>{group}</Text>
          </strong>{' '}
          <Ago at={failure?.at ?? newest?.at} />{' '}
          {failure?.worker != null && (
            <>
              by <Text>{failure.worker}</Text>
            </>
          )}
        </p>
        {message !== '' && (
          <pre tabIndex={0} aria-label="Message of the newest failure">
            {visible(message)}
          </pre>
        )}
      </article>
      {others.length > 0 && (
        <details>
          <summary>{count(others.length)} earlier</summary>
          {others.map((step) => (
            <article key={step.at}>
              <p>
                <strong>
                  <Text>{String(step.group ?? step.what)}</Text>
                </strong>{' '}
                <Ago at={step.at} />{' '}
                {typeof step.worker === 'string' && (
                  <>
                    by <Text>{step.worker}</Text>
                  </>
                )}
              </p>
              {typeof step.message === 'string' && <pre tabIndex={0}>{visible(step.message)}</pre>}
            </article>
          ))}
        </details>
      )}
    </section>
  );
}

function both(at: string | null) {
  if (at === null) return null;
  return (
    <span title={utc(at)}>
      {local(at)}{' '}
      <span class="dim">
        (<Ago at={at} />)
      </span>
    </span>
  );
}

const ms = (value: number | null) => (value === null ? null : duration(value));
const text = (value: string | null) => (value === null ? null : <Text>{value}</Text>);

function JobFacts({ place, job, raw }: { place: Place; job: Job; raw: ReadonlyMap<string, string> }) {
  const retry = raw.get('retry');
  const progress = raw.get('progress');
  return (
    <section aria-label="Facts">
      <h2>Facts</h2>
      <Facts
        of={[
          ['Queue', <a href={hrefIn(place, ['queues', job.queue])}>{job.queue}</a>],
          [
            'Type',
            job.type === null ? null : (
              <a href={hrefIn(place, ['jobs'], { type: job.type })}>
                <Text>{job.type}</Text>
              </a>
            ),
          ],
          ['Attempts', `${count(job.attempts)} of ${count(job.tries)}, ${count(job.tries_left)} left`],
          [
            'Failed',
            job.failures + job.crashes === 0
              ? null
              : `${count(job.failures)} failures, ${count(job.crashes)} expired leases`,
          ],
          ['Published', both(job.published_at)],
          ['Due', both(job.due_at)],
          [
            'Worker',
            job.leased_by === null ? null : (
              <a href={hrefIn(place, ['jobs'], { worker: job.leased_by })}>
                <Text>{job.leased_by}</Text>
              </a>
            ),
          ],
          ['Lease ends', both(job.lease_ends_at)],
          ['Ended', both(job.ended_at)],
          ['Expires', both(job.expires_at)],
          [
            'Progress',
            progress === undefined || progress === 'null' ? null : (
              <code>{visible(progress.slice(0, 500))}</code>
            ),
          ],
          ['Priority', job.priority === 0 ? null : String(job.priority)],
          [
            'Tags',
            job.tags.length === 0
              ? null
              : job.tags.map((tag) => (
                  <a class="tag" key={tag} href={hrefIn(place, ['jobs'], { tag })}>
                    <Text>{tag}</Text>
                  </a>
                )),
          ],
          ['Retry policy', retry === undefined || retry === 'null' ? null : <code>{visible(retry)}</code>],
          ['Lease lasts', ms(job.ttr_ms)],
          ['Longest run', ms(job.max_run_ms)],
          ['Kept for', ms(job.retention_ms)],
          ['Unique key', text(job.unique_key)],
          ['Concurrency key', text(job.concurrency_key)],
          ['Fair key', text(job.fair_key ?? null)],
          [
            'Made by',
            job.spawned_from === null ? null : (
              <a href={hrefIn(place, ['schedules'])}>
                <Text>{job.spawned_from}</Text>
              </a>
            ),
          ],
          ['Content type', text(job.content_type)],
          ['Cancel', job.cancel_requested ? 'requested' : null],
          ...Object.entries(job.attributes ?? {}).map(
            ([name, value]) => [`@${name}`, <Text>{value}</Text>] as const,
          ),
        ]}
      />
    </section>
  );
}

const SHOWN = new Set(['what', 'at', 'group', 'message']);
const TIMES = new Set(['due_at', 'revoked_at']);

function Steps({ steps }: { steps: readonly Step[] }) {
  if (steps.length === 0) return null;
  return (
    <section aria-label="Timeline">
      <h2>Timeline, newest first</h2>
      <Table label="Steps of the timeline">
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">Step</th>
            <th scope="col">More</th>
          </tr>
        </thead>
        <tbody>
          {[...steps].reverse().map((step, i) => (
            <tr key={steps.length - i}>
              <td class="num" title={`${local(step.at)}\n${utc(step.at)}`}>
                {clock(step.at)}
              </td>
              <td>{step.what.replaceAll('_', ' ')}</td>
              <td>
                {typeof step.group === 'string' && (
                  <strong>
                    <Text>{step.group}</Text>{' '}
                  </strong>
                )}
                {typeof step.message === 'string' && <Text>{step.message.slice(0, 300)}</Text>}
                {Object.entries(step)
                  .filter(([name]) => !SHOWN.has(name))
                  .map(([name, value]) => (
                    <span class="pair" key={name}>
                      <span class="dim">{name.replaceAll('_', ' ')}</span>{' '}
                      <Text>
                        {typeof value === 'string' && TIMES.has(name)
                          ? local(value)
                          : typeof value === 'string'
                            ? value
                            : JSON.stringify(value)}
                      </Text>
                    </span>
                  ))}
              </td>
            </tr>
          ))}
        </tbody>
      </Table>
    </section>
  );
}
