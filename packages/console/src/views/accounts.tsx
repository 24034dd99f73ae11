import { CallError, read } from '../lib/api.js';
import { count } from '../lib/format.js';
import { linesOf } from '../lib/lines.js';
import { usePoll } from '../lib/poll.js';
import { loadSession, may, session } from '../lib/session.js';
import { act } from '../ui/action.jsx';
import { Empty, Problem, ShellLines, Table, Text } from '../ui/parts.jsx';

interface Account {
  readonly name: string;
  readonly role: string;
  readonly namespaces: readonly string[] | null;
  readonly sessions: number;
}

/** The accounts of the admin port. The configuration has them: the console shows them only. */
export function AccountsView() {
  const { data, error, reload } = usePoll(
    'accounts',
    (signal) => read<{ accounts: readonly Account[] }>('/accounts', signal),
    10_000,
  );
  const isUnknown = error instanceof CallError && error.status === 404;
  const isOpen = isUnknown || data?.accounts.length === 0;
  const end = (name: string): void =>
    act({
      ...{
        title: `End all sessions of ${name}`,
        about: 'Browsers that are signed in as this account must sign in again.',
        place: null,
      },
      call: () => ({ method: 'DELETE', path: `/accounts/${encodeURIComponent(name)}/sessions` }),
      cli: () => null,
      done: ({ body }) => `${count((body as { ended: number }).ended)} sessions have ended.`,
      after: () => {
        reload();
        void loadSession();
      },
    });
  return (
    <>
      <h1>Accounts</h1>
      {!isOpen && <Problem error={error} hasData={data !== undefined} />}
      {isOpen && (
        <Empty>
          There are no accounts, so the admin port answers on loopback only, and everybody on this machine is
          an admin. Accounts are in the configuration, as <code>admin.accounts</code>.
        </Empty>
      )}
      {data !== undefined && data.accounts.length > 0 && (
        <Table label="Accounts">
          <thead>
            <tr>
              <th scope="col">Account</th>
              <th scope="col">Role</th>
              <th scope="col">Namespaces</th>
              <th scope="col" class="num">
                Sessions
              </th>
              <th scope="col">Actions</th>
            </tr>
          </thead>
          <tbody>
            {data.accounts.map(({ name, role, namespaces, sessions }) => (
              <tr key={name}>
                <th scope="row">
                  <Text>{name}</Text>
                </th>
                <td>{role.replace('_', ' ')}</td>
                <td>{namespaces?.join(', ') ?? 'all'}</td>
                <td class="num">{count(sessions)}</td>
                <td>
                  {(may('admin') || name === session.value?.account) && sessions > 0 && (
                    <button type="button" class="danger" onClick={() => end(name)}>
                      End sessions
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      <ShellLines lines={linesOf({ method: 'GET', path: '/accounts' }, null, null)} />
    </>
  );
}
