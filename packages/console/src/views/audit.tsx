import { CallError, read } from '../lib/api.js';
import { count } from '../lib/format.js';
import { linesOf, queryOf } from '../lib/lines.js';
import { usePoll } from '../lib/poll.js';
import { route, setQuery } from '../lib/router.js';
import { Ago, Empty, FirstPage, Pages, Problem, ShellLines, Table, Text } from '../ui/parts.jsx';

interface Entry {
  readonly id: string;
  readonly at: string;
  readonly account: string | null;
  readonly action: string;
  readonly pool: string | null;
  readonly namespace: string | null;
  readonly target: Readonly<Record<string, unknown>>;
  readonly params: Readonly<Record<string, unknown>>;
  readonly counts: Readonly<Record<string, number>>;
  readonly status: number | null;
  readonly remote: string | null;
}

const textOf = (facts: Readonly<Record<string, unknown>>): string =>
  Object.keys(facts).length === 0 ? '' : JSON.stringify(facts);
const countsText = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([name, number]) => `${name} ${count(number)}`)
    .join(', ');
const NAMES = ['account', 'action', 'namespace'] as const;

/** Who changed what. */
export function AuditView() {
  const { query } = route.value;
  const values = Object.fromEntries(NAMES.map((name) => [name, query.get(name)]));
  const path = `/audit${queryOf({ ...values, limit: 100, cursor: query.get('cursor') })}`;
  const { data, error } = usePoll(
    path,
    (signal) => read<{ entries: readonly Entry[]; next: string | null }>(path, signal),
    5_000,
  );
  const isUnknown = error instanceof CallError && error.status === 404;
  const isDenied = error instanceof CallError && error.status === 403;
  return (
    <>
      <h1>Audit</h1>
      {isUnknown ? (
        <Empty>This server keeps no audit log that can be read: its log lines have it.</Empty>
      ) : isDenied ? (
        <Empty>The audit log is for accounts with the role admin.</Empty>
      ) : (
        <Problem error={error} hasData={data !== undefined} />
      )}
      <search class="filters">
        {NAMES.map((name) => (
          <label key={name} class="inline">
            {name}{' '}
            <input
              type="search"
              value={query.get(name) ?? ''}
              onChange={({ currentTarget: { value } }) => setQuery({ [name]: value.trim(), cursor: null })}
            />
          </label>
        ))}
      </search>
      {data?.entries.length === 0 && (
        <Empty>
          {data.next === null
            ? 'No entry matches.'
            : 'None of the entries so far matches; there are older ones.'}
        </Empty>
      )}
      {data !== undefined && data.entries.length > 0 && (
        <Table label="Audit log">
          <thead>
            <tr>
              <th scope="col">When</th>
              <th scope="col">Account</th>
              <th scope="col">Action</th>
              <th scope="col">Namespace</th>
              <th scope="col">Of</th>
              <th scope="col" class="num">
                Count
              </th>
              <th scope="col" class="num">
                Status
              </th>
              <th scope="col">From</th>
            </tr>
          </thead>
          <tbody>
            {data.entries.map((entry) => (
              <tr key={entry.id}>
                <td>
                  <Ago at={entry.at} />
                </td>
                <th scope="row">
                  <Text>{entry.account ?? 'none'}</Text>
                </th>
                <td>{entry.action}</td>
                <td>
                  <Text>{entry.namespace ?? ''}</Text>
                </td>
                <td>
                  <Text>{[entry.target, entry.params].map(textOf).filter(Boolean).join(' ')}</Text>
                </td>
                <td class="num">{countsText(entry.counts)}</td>
                <td class={`num ${(entry.status ?? 0) >= 400 ? 'bad' : ''}`}>{entry.status ?? ''}</td>
                <td>{entry.remote}</td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      <Pages next={data?.next ?? null}>
        <FirstPage />
      </Pages>
      <ShellLines lines={linesOf({ method: 'GET', path }, null, null)} />
    </>
  );
}
