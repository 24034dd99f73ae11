import { read } from '../lib/api.js';
import { count } from '../lib/format.js';
import { linesOf, queryOf } from '../lib/lines.js';
import { DEFAULT_POOL, type Place, poolArgs } from '../lib/place.js';
import { usePoll } from '../lib/poll.js';
import { may } from '../lib/session.js';
import { quotaArgs, quotaChanges, quotaField, type Quotas } from '../lib/token-forms.js';
import { act } from '../ui/action.jsx';
import { Problem, ShellLines, Table } from '../ui/parts.jsx';

const label = (name: string): string => name.replaceAll('_', ' ');
const bound = (value: number): string => (value === 0 ? 'no limit' : count(value));

/** How much a namespace may store. */
export function QuotasSection({ place }: { place: Place }) {
  const pool = place.pool === DEFAULT_POOL ? null : place.pool;
  const path = `/namespaces/${encodeURIComponent(place.namespace)}/quotas${queryOf({ pool })}`;
  const { data, error, reload } = usePoll(path, (signal) => read<{ quotas: Quotas }>(path, signal), 30_000);
  return (
    <section aria-label="Quotas">
      <h2>
        Quotas{' '}
        {may('admin') && data !== undefined && (
          <button type="button" class="quiet" onClick={() => edit(place, path, data.quotas, reload)}>
            edit
          </button>
        )}
      </h2>
      <Problem error={error} hasData={data !== undefined} />
      {data !== undefined && (
        <Table label="Quotas of the namespace">
          <thead>
            <tr>
              <th scope="col">Quota</th>
              <th scope="col" class="num">
                Value
              </th>
              <th scope="col" class="num">
                Default
              </th>
            </tr>
          </thead>
          <tbody>
            {Object.entries(data.quotas).map(([name, quota]) => (
              <tr key={name}>
                <th scope="row">{label(name)}</th>
                <td class="num">{bound(quota.value)}</td>
                <td class="num dim">{bound(quota.default)}</td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      <ShellLines
        lines={linesOf({ method: 'GET', path }, null, ['quota', 'show', place.namespace, ...poolArgs(place)])}
      />
    </section>
  );
}

function edit(place: Place, path: string, quotas: Quotas, onChange: () => void): void {
  const { namespace } = place;
  act({
    ...{ title: `Save quotas of ${namespace}`, place: null, after: onChange },
    about: 'They hold on every server within a second. What is stored already stays.',
    form: (
      <div class="form">
        {Object.entries(quotas).map(([name, quota]) => (
          <label key={name}>
            <span>{label(name)}</span>
            <input name={name} defaultValue={quotaField(quota)} inputMode="numeric" autocomplete="off" />
            <small>0 = no limit; empty = the default, {bound(quota.default)}</small>
          </label>
        ))}
      </div>
    ),
    call: (fields) => ({ method: 'PUT', path, body: JSON.stringify(quotaChanges(fields, quotas)) }),
    cli: (fields) => quotaArgs(place, quotaChanges(fields, quotas)),
    done: () => `The quotas of ${namespace} are saved.`,
  });
}
