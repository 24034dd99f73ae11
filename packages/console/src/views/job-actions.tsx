import type { ComponentChildren } from 'preact';
import { copiedOptions } from '../lib/copy.js';
import { type Place, v1 } from '../lib/place.js';
import { isJson } from '../lib/raw-json.js';
import { go, hrefIn } from '../lib/router.js';
import { may } from '../lib/session.js';
import type { Job } from '../lib/types.js';
import { act } from '../ui/action.jsx';

interface Props {
  readonly place: Place;
  readonly shown: { readonly job: Job; readonly raw: ReadonlyMap<string, string> };
  readonly onChange: () => void;
}

const WAITING = new Set(['ready', 'scheduled', 'blocked', 'held']);
/** A job has so many tries at most. */
const MAX_TRIES = 65_535;

/** What can be done with a job in its state. */
export function JobActions(props: Props) {
  const { state } = props.shown.job;
  if (!may('operator')) return null;
  const button = (label: string, onClick: () => void, kind = '') => (
    <button type="button" class={kind} onClick={onClick}>
      {label}
    </button>
  );
  return (
    <div class="buttons" role="group" aria-label="Actions">
      {state === 'dead' && button('Retry', () => retry(props), 'primary')}
      {state === 'scheduled' && button('Run now', () => runNow(props), 'primary')}
      {WAITING.has(state) && button('Edit', () => edit(props))}
      {(WAITING.has(state) || state === 'dead') && button('Move', () => move(props))}
      {isWhole(props.shown.job) && button('Run a copy', () => copy(props))}
      {state === 'leased' && button('Take the lease away', () => revoke(props))}
      {(WAITING.has(state) || state === 'leased' || state === 'dead') &&
        button('Cancel job', () => cancel(props), 'danger')}
      {state !== 'leased' && button('Delete', () => remove(props), 'danger')}
    </div>
  );
}

/** What a copy takes from the job. */
const COPIED_DATA = ['data', 'data_base64', 'attributes'];

/** False if the role does not see all that a copy has: it would be another job. */
function isWhole({ redacted, withheld = [] }: Job): boolean {
  return redacted === undefined && !COPIED_DATA.some((name) => withheld.includes(name));
}

const pathOf = (place: Place, { id }: Job): string => v1(place, `/jobs/${encodeURIComponent(id)}`);

function retry({ place, shown: { job }, onChange }: Props): void {
  act({
    ...{ title: 'Retry', about: 'The dead job is ready again, with all its tries.', place, after: onChange },
    call: () => ({
      method: 'POST',
      path: v1(place, '/dead-letter/respawn'),
      body: JSON.stringify({ ids: [job.id] }),
    }),
    cli: () => ['job', 'retry', job.id],
    done: ({ body }) =>
      (body as { jobs: number }).jobs === 1
        ? `${job.id} is ready again.`
        : 'Nothing changed: another job has its unique key.',
  });
}

function runNow({ place, shown: { job }, onChange }: Props): void {
  act({
    ...{ title: 'Run now', about: 'The job is due now instead of later.', place, after: onChange },
    call: () => ({ method: 'PATCH', path: pathOf(place, job), body: '{"delay_ms":0}' }),
    cli: () => ['job', 'set', job.id, '--delay', '0s'],
    done: () => `${job.id} is due now.`,
  });
}

function move({ place, shown: { job }, onChange }: Props): void {
  const target = (fields: ReadonlyMap<string, string>): string => {
    const queue = (fields.get('queue') ?? '').trim();
    if (queue === '') throw new Error('Name the queue.');
    return queue;
  };
  act({
    ...{
      title: 'Move',
      about: 'The job goes to the end of the other queue; a dead one is ready there.',
      place,
      after: onChange,
    },
    form: field('queue', 'To queue', '', 'letters, digits, - and _'),
    call: (fields) =>
      job.state === 'dead'
        ? {
            ...{ method: 'POST', path: v1(place, '/dead-letter/move') },
            body: JSON.stringify({ ids: [job.id], to_queue: target(fields) }),
          }
        : { method: 'PATCH', path: pathOf(place, job), body: JSON.stringify({ queue: target(fields) }) },
    cli: (fields) => ['job', 'move', target(fields), job.id],
    done: (_reply, fields) => `${job.id} is in ${target(fields)}.`,
  });
}

function revoke({ place, shown: { job }, onChange }: Props): void {
  act({
    ...{ title: 'Take the lease away', place, after: onChange, isDanger: true },
    about: 'The job returns to its queue, and another worker may run it while this one still does.',
    call: () => ({ method: 'POST', path: `${pathOf(place, job)}/revoke` }),
    cli: () => ['job', 'revoke', job.id],
    done: () => `${job.id} is in its queue again.`,
  });
}

function cancel({ place, shown: { job }, onChange }: Props): void {
  const body = (fields: ReadonlyMap<string, string>): string =>
    JSON.stringify(fields.get('cascade') === 'on' ? { cascade: true } : {});
  const about =
    job.state === 'leased'
      ? 'Its worker gets a request to stop, and loses the lease after the grace.'
      : 'It ends at once, and does not run.';
  act({
    ...{ title: 'Cancel job', about, place, after: onChange, isDanger: true },
    form:
      job.dependents.length > 0 ? (
        <label class="check">
          <input type="checkbox" name="cascade" /> also the jobs that depend on it
        </label>
      ) : undefined,
    call: (fields) => ({ method: 'POST', path: `${pathOf(place, job)}/cancel`, body: body(fields) }),
    cli: (fields) => ['job', 'cancel', job.id, ...(fields.get('cascade') === 'on' ? ['--cascade'] : [])],
    done: ({ body: answer }) => `${job.id}: ${(answer as { outcome: string }).outcome.replace('_', ' ')}.`,
  });
}

function remove({ place, shown: { job }, onChange }: Props): void {
  act({
    ...{
      title: 'Delete',
      about: 'Deletes the job with its data, result and timeline. It cannot be undone.',
      place,
      isDanger: true,
    },
    call: () => ({ method: 'DELETE', path: pathOf(place, job) }),
    cli: () => ['job', 'rm', job.id],
    done: () => `${job.id} was deleted.`,
    after: onChange,
  });
}

function field(name: string, label: string, value: string, hint: string): ComponentChildren {
  return (
    <label>
      <span>{label}</span>
      <input name={name} defaultValue={value} autocomplete="off" />
      <small>{hint}</small>
    </label>
  );
}

const DATA_HINT = 'JSON; it is stored as it is written here';

/** The data field as it is sent. Numbers keep their digits: the text is checked, and not written again. */
function dataOf(fields: ReadonlyMap<string, string>): string {
  const text = (fields.get('data') ?? '').trim();
  if (!isJson(text)) throw new Error('The data must be JSON.');
  return text;
}

function wholeOf(
  fields: ReadonlyMap<string, string>,
  name: string,
  label: string,
  from: number,
  to: number,
): number {
  const text = (fields.get(name) ?? '').trim();
  const value = Number(text);
  if (!/^-?\d+$/.test(text) || value < from || value > to)
    throw new Error(`${label} must be a whole number from ${from} to ${to}.`);
  return value;
}

function edit({ place, shown: { job, raw }, onChange }: Props): void {
  // Redacted data would be stored as it is shown.
  const data = job.redacted === undefined ? raw.get('data') : undefined;
  const changes = (fields: ReadonlyMap<string, string>): Map<string, string> => {
    const found = new Map<string, string>();
    if (data !== undefined && dataOf(fields) !== data) found.set('data', dataOf(fields));
    const priority = wholeOf(fields, 'priority', 'Priority', -128, 127);
    if (priority !== job.priority) found.set('priority', String(priority));
    const tries = wholeOf(fields, 'tries', 'Tries', 1, MAX_TRIES);
    if (tries !== job.tries) found.set('tries', String(tries));
    if (found.size === 0) throw new Error('Nothing has changed.');
    return found;
  };
  act({
    ...{ title: 'Save changes', about: 'Only what you change is sent.', place, after: onChange },
    form: (
      <div class="form">
        {data !== undefined && (
          <label class="wide">
            <span>Data</span>
            <textarea name="data" rows={10} spellcheck={false} defaultValue={data} />
            <small>{DATA_HINT}</small>
          </label>
        )}
        {field('priority', 'Priority', String(job.priority), 'lower runs first, -128 to 127')}
        {field('tries', 'Tries', String(job.tries), 'leases allowed in all')}
      </div>
    ),
    call: (fields) => {
      const members = [...changes(fields)].map(([name, json]) => `"${name}":${json}`);
      return { method: 'PATCH', path: pathOf(place, job), body: `{${members.join(',')}}` };
    },
    cli: (fields) => {
      const found = changes(fields);
      if (found.has('data')) return null;
      return ['job', 'set', job.id, ...[...found].flatMap(([name, value]) => [`--${name}`, value])];
    },
    done: () => `${job.id} is changed.`,
  });
}

function copy({ place, shown: { job, raw } }: Props): void {
  const base64 = raw.get('data_base64');
  const options = copiedOptions(raw);
  const bodyOf = (fields: ReadonlyMap<string, string>): string => {
    const payload = base64 === undefined ? `"data":${dataOf(fields)}` : `"data_base64":${base64}`;
    const queue = (fields.get('queue') ?? '').trim();
    if (queue === '') throw new Error('Name the queue.');
    const others = [...options].map(([name, json]) => `"${name}":${json}`);
    return `{"queue":${JSON.stringify(queue)},${[payload, ...others].join(',')}}`;
  };
  act({
    ...{
      title: 'Run a copy',
      about: 'Publishes a new job with the same data and options. This one stays as it is.',
      place,
    },
    form: (
      <div class="form">
        {field('queue', 'Queue', job.queue, 'where the copy runs')}
        {base64 === undefined && (
          <label class="wide">
            <span>Data</span>
            <textarea name="data" rows={10} spellcheck={false} defaultValue={raw.get('data') ?? 'null'} />
            <small>{DATA_HINT}</small>
          </label>
        )}
      </div>
    ),
    call: (fields) => ({ method: 'POST', path: v1(place, '/jobs'), body: bodyOf(fields) }),
    cli: (fields) =>
      base64 === undefined && [...options.keys()].every((name) => SIMPLE.has(name))
        ? publishArgs(fields, job)
        : null,
    done: ({ body }) => `The copy is ${(body as { id: string }).id}.`,
    after: ({ body }) => go(hrefIn(place, ['jobs', (body as { id: string }).id])),
  });
}

/** Options that `job publish` takes as one plain text. */
const SIMPLE = new Set(['type', 'tags', 'priority', 'tries']);

function publishArgs(fields: ReadonlyMap<string, string>, { type, tags, priority, tries }: Job): string[] {
  return [
    ...['job', 'publish', (fields.get('queue') ?? '').trim(), dataOf(fields)],
    ...(type === null ? [] : ['--type', type]),
    ...(tags.length === 0 ? [] : ['--tag', tags.join(',')]),
    ...(priority === 0 ? [] : ['--priority', String(priority)]),
    ...['--tries', String(tries)],
  ];
}
