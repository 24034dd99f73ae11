import { readIn } from '../lib/api.js';
import { count } from '../lib/format.js';
import { linesOf } from '../lib/lines.js';
import { type Place, v1 } from '../lib/place.js';
import { usePoll } from '../lib/poll.js';
import { may } from '../lib/session.js';
import type { FairKeys, Queue } from '../lib/types.js';
import { Ago, Empty, Problem, ShellLines, Table, Text } from '../ui/parts.jsx';
import { pauseSome } from './queue-pauses.jsx';

/** The server counts all keys for each answer. */
const POLL_MS = 30_000;

interface Props {
  readonly place: Place;
  readonly queue: Queue;
  readonly onChange: () => void;
}

/** The largest backlogs of a fair queue. */
export function FairKeysOf({ place, queue: { queue, fair = false }, onChange }: Props) {
  return fair === false ? null : <Largest place={place} queue={queue} onChange={onChange} />;
}

function Largest({ place, queue, onChange }: { place: Place; queue: string; onChange: () => void }) {
  const path = `/queues/${encodeURIComponent(queue)}/keys`;
  const { data, error } = usePoll(`keys ${path}`, (signal) => readIn<FairKeys>(place, path, signal), POLL_MS);
  return (
    <section aria-label="Fair keys">
      <h2>Fair keys with ready jobs</h2>
      <Problem error={error} hasData={data !== undefined} />
      {data?.keys.length === 0 && <Empty>No fair key has ready jobs.</Empty>}
      {data?.complete === false && (
        <p>The queue has more keys than the server counts: these are the largest of some.</p>
      )}
      {data !== undefined && data.keys.length > 0 && (
        <Table label="Fair keys with ready jobs">
          <thead>
            <tr>
              <th scope="col">Key</th>
              <th scope="col" class="num">
                Ready
              </th>
              <th scope="col">Oldest</th>
              <th scope="col">Action</th>
            </tr>
          </thead>
          <tbody>
            {data.keys.map(({ key, ready, oldest_published_at }) => (
              <tr key={key}>
                <th scope="row">
                  <Text>{key}</Text>
                </th>
                <td class="num">{count(ready)}</td>
                <td>
                  <Ago at={oldest_published_at} />
                </td>
                <td>
                  {may('operator') && (
                    <button
                      type="button"
                      onClick={() => pauseSome(place, queue, onChange, ['fair_key', key])}
                    >
                      Pause
                    </button>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </Table>
      )}
      <ShellLines
        lines={linesOf({ method: 'GET', path: v1(place, path) }, place, ['queue', 'keys', queue])}
      />
    </section>
  );
}
