import { useState } from 'preact/hooks';
import { CallError, read } from '../lib/api.js';
import { linesOf, queryOf } from '../lib/lines.js';
import { DEFAULT_POOL, type Place, poolArgs } from '../lib/place.js';
import { usePoll } from '../lib/poll.js';
import { may } from '../lib/session.js';
import { type Limiter, limiterText } from '../lib/token-forms.js';
import { act } from '../ui/action.jsx';
import { Ago, CodeLine, Empty, Problem, ShellLines, Table, Text } from '../ui/parts.jsx';
import { QuotasSection } from './quotas.jsx';
import { madeToken, type OneToken, remove, rotate, setLimit } from './token-actions.jsx';

interface Details {
  readonly description: string;
  readonly verbs: readonly string[] | null;
  readonly queues: readonly string[] | null;
  readonly created_at?: string | null;
  readonly expires_at: string | null;
  readonly last_used_at: string | null;
  readonly replaced?: boolean;
  readonly limit?: Limiter | null;
}

/** A token as the page keeps it. Its text is for the calls about it, and never in the page. */
interface Row extends OneToken {
  readonly details: Details;
}

const SHOWN_CHARACTERS = 4;
const VERBS = ['publish', 'consume', 'admin', 'push'];

async function loadTokens(namespace: string, path: string, signal: AbortSignal): Promise<Row[]> {
  const { details } = await read<{ details: Readonly<Record<string, Details>> }>(path, signal);
  return Object.entries(details).map(([token, one]) => ({
    ...{ namespace, token, limit: one.limit ?? null, details: one },
    hint: token.slice(token.indexOf(':') + 1).slice(0, SHOWN_CHARACTERS),
  }));
}

/** The tokens of a namespace, and its quotas. Secrets are not shown, but for a new token, once. */
export function TokensView({ place }: { place: Place }) {
  const pool = place.pool === DEFAULT_POOL ? null : place.pool;
  const path = `/token/${encodeURIComponent(place.namespace)}${queryOf({ pool, details: true })}`;
  const mayRead = may('admin');
  const { data, error, reload } = usePoll(
    mayRead ? path : null,
    (signal) => loadTokens(place.namespace, path, signal),
    10_000,
  );
  const [made, setMade] = useState('');
  const isDenied = !mayRead || (error instanceof CallError && error.status === 403);
  return (
    <>
      <h1>Tokens of {place.namespace}</h1>
      {isDenied ? (
        <Empty>Tokens are for accounts with the role admin.</Empty>
      ) : (
        <Problem error={error} hasData={data !== undefined} />
      )}
      {mayRead && (
        <div class="buttons">
          <button type="button" onClick={() => create(place, setMade, reload)}>
            Create a token
          </button>
        </div>
      )}
      {made !== '' && (
        <section class="explain calm" aria-label="The new token">
          <p class="sentence">The new token. It is not shown again:</p>
          <CodeLine text={made} what="the token" />
        </section>
      )}
      {data?.length === 0 && <Empty>No token: no program can use this namespace.</Empty>}
      {data !== undefined && data.length > 0 && <Tokens rows={data} onMade={setMade} onChange={reload} />}
      <ShellLines
        lines={linesOf({ method: 'GET', path }, null, ['token', 'ls', place.namespace, ...poolArgs(place)])}
      />
      <QuotasSection place={place} />
    </>
  );
}

function Tokens(props: {
  readonly rows: readonly Row[];
  readonly onMade: (token: string) => void;
  readonly onChange: () => void;
}) {
  const { rows, onMade, onChange } = props;
  return (
    <Table label="Tokens of the namespace">
      <thead>
        <tr>
          <th scope="col">Token</th>
          <th scope="col">For</th>
          <th scope="col">Permissions</th>
          <th scope="col">Queues</th>
          <th scope="col">Limit</th>
          <th scope="col">Expires</th>
          <th scope="col">Last used</th>
          <th scope="col">Actions</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <TokenLine key={row.token} row={row} onMade={onMade} onChange={onChange} />
        ))}
      </tbody>
    </Table>
  );
}

function TokenLine(props: {
  readonly row: Row;
  readonly onMade: (token: string) => void;
  readonly onChange: () => void;
}) {
  const { row, onMade, onChange } = props;
  const { hint, limit, details } = row;
  return (
    <tr>
      <th scope="row">
        <code>{hint}…</code>
        {details.replaced === true && <span class="dim"> replaced</span>}
      </th>
      <td>
        <Text>{details.description}</Text>
      </td>
      <td>{details.verbs?.join(', ') ?? 'all'}</td>
      <td>{details.queues?.join(', ') ?? 'all'}</td>
      <td>{limit === null ? <span class="dim">none</span> : limiterText(limit)}</td>
      <td>
        <TimeOrNever at={details.expires_at} />
      </td>
      <td>
        <TimeOrNever at={details.last_used_at} />
      </td>
      <td class="buttons">
        {details.replaced !== true && (
          <button type="button" onClick={() => rotate(row, onMade, onChange)}>
            Rotate
          </button>
        )}
        <button type="button" onClick={() => setLimit(row, onChange)}>
          Limit
        </button>
        <button type="button" class="danger" onClick={() => remove(row, onChange)}>
          Delete
        </button>
      </td>
    </tr>
  );
}

function TimeOrNever({ at }: { at: string | null }) {
  return at === null ? <span class="dim">never</span> : <Ago at={at} />;
}

function create(place: Place, onMade: (token: string) => void, onChange: () => void): void {
  const valuesOf = (fields: ReadonlyMap<string, string>) => {
    const description = (fields.get('description') ?? '').trim();
    if (description === '') throw new Error('Say what the token is for.');
    const verbs = VERBS.filter((verb) => fields.get(verb) === 'on');
    if (verbs.length === 0) throw new Error('Choose at least one permission.');
    return {
      ...{ description, verbs: verbs.length === VERBS.length ? '' : verbs.join(',') },
      ...{ queues: (fields.get('queues') ?? '').trim(), expires: (fields.get('expires') ?? '').trim() },
      pool: place.pool === DEFAULT_POOL ? '' : place.pool,
    };
  };
  act({
    ...{ title: 'Create a token', about: 'Programs send it with each call.', place: null },
    form: (
      <div class="form">
        <label>
          <span>For</span>
          <input name="description" autocomplete="off" required />
          <small>which program, which team</small>
        </label>
        <fieldset>
          <legend>Permissions</legend>
          {VERBS.map((verb) => (
            <label key={verb} class="check">
              <input type="checkbox" name={verb} defaultChecked={verb === 'publish' || verb === 'consume'} />{' '}
              {verb}
            </label>
          ))}
        </fieldset>
        <label>
          <span>Queues</span>
          <input name="queues" autocomplete="off" />
          <small>patterns such as mail-*,news; empty = all</small>
        </label>
        <label>
          <span>Expires</span>
          <input name="expires" autocomplete="off" />
          <small>90d, 12h or 2030-01-31; empty = never</small>
        </label>
      </div>
    ),
    call: (fields) => ({
      method: 'POST',
      path: `/token/${encodeURIComponent(place.namespace)}${queryOf(valuesOf(fields))}`,
    }),
    cli: (fields) => {
      const { description, ...rest } = valuesOf(fields);
      return [
        'token',
        'create',
        place.namespace,
        '--description',
        description,
        ...Object.entries(rest).flatMap(([name, value]) => (value === '' ? [] : [`--${name}`, value])),
      ];
    },
    done: () => 'The token is made.',
    after: (reply) => {
      onMade(madeToken(reply));
      onChange();
    },
  });
}
