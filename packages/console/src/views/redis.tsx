import { type Finding, loopFindings, poolFindings } from '../../../cli/src/findings.js';
import { read } from '../lib/api.js';
import { bytes, count, duration } from '../lib/format.js';
import { linesOf } from '../lib/lines.js';
import { usePoll } from '../lib/poll.js';
import type { PoolFacts } from '../lib/types.js';
import { Ago, Badge, Facts, Problem, ShellLines, Table, Text } from '../ui/parts.jsx';

interface Loop {
  readonly pid: number;
  readonly pool: string;
  readonly name: string;
  readonly last_run_at: string | null;
  readonly duration_ms: number | null;
  readonly moved: number | null;
  readonly lag_ms: number | null;
  readonly next_run_at: string | null;
  readonly last_error: string | null;
}

/** Is Redis well: what `pumphouse doctor` finds, the facts of each pool, and the loops of the servers. */
export function RedisView() {
  const redis = usePoll('redis', (signal) => read<{ pools: readonly PoolFacts[] }>('/redis', signal), 5_000);
  const loops = usePoll('loops', (signal) => read<{ loops: readonly Loop[] }>('/loops', signal), 5_000);
  const version = usePoll(
    'version',
    (signal) => read<{ version: string; build_commit: string }>('/version', signal),
    60_000,
  );
  const pools = redis.data?.pools ?? [];
  return (
    <>
      <h1>Redis and servers</h1>
      <Problem error={redis.error} hasData={redis.data !== undefined} />
      {version.data !== undefined && (
        <p class="dim">
          Pumphouse {version.data.version}
          {version.data.build_commit === '' ? '' : `, ${version.data.build_commit.slice(0, 12)}`}
        </p>
      )}
      {redis.data !== undefined && (
        <Findings
          findings={[
            ...pools.flatMap(poolFindings),
            ...(loops.data === undefined ? [] : loopFindings(loops.data.loops)),
          ]}
        />
      )}
      {pools.map((pool) => (
        <Pool key={pool.pool} pool={pool} />
      ))}
      <ShellLines lines={linesOf({ method: 'GET', path: '/redis' }, null, ['doctor'])} />
      <Problem error={loops.error} hasData={loops.data !== undefined} />
      {loops.data !== undefined && <Loops loops={loops.data.loops} />}
    </>
  );
}

const ORDER = ['problem', 'warning', 'ok'];

function Findings({ findings }: { findings: readonly Finding[] }) {
  const sorted = [...findings].sort((a, b) => ORDER.indexOf(a.status) - ORDER.indexOf(b.status));
  return (
    <section aria-label="Findings">
      <h2>Findings</h2>
      <ul class="findings">
        {sorted.map(({ status, check, found, action }) => (
          <li key={`${check}${found}`}>
            <Badge state={status} /> <span class="dim">{check}:</span> <Text>{found}</Text>
            {action !== undefined && <p>{action}</p>}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Pool({ pool: { pool, facts, up } }: { pool: PoolFacts }) {
  if (facts === null)
    return (
      <section aria-label={`Pool ${pool}`}>
        <h2>
          Pool {pool} <Badge state="problem">{up ? 'no facts' : 'down'}</Badge>
        </h2>
      </section>
    );
  const limit = facts.maxmemory ?? 0;
  return (
    <section aria-label={`Pool ${pool}`}>
      <h2>Pool {pool}</h2>
      <Facts
        of={[
          ['Version', `${facts.version ?? ''}, ${facts.mode ?? ''}, ${facts.role ?? ''}`],
          ['Memory', `${bytes(facts.used_memory)}${limit > 0 ? ` of ${bytes(limit)}` : ', no maxmemory'}`],
          ['When full', facts.maxmemory_policy],
          ['Round trip', `${facts.latency_ms} ms, at most ${facts.max_latency_ms} ms`],
          [
            'AOF',
            facts.aof_enabled
              ? `on${facts.appendfsync === null ? '' : `, ${facts.appendfsync}`}; last write ${facts.aof_last_write_status ?? '–'}`
              : 'off',
          ],
          ['Connections', `${count(facts.connected_clients)} of ${count(facts.maxclients)}`],
          ['Replicas', count(facts.connected_slaves)],
          ['Clock', `${facts.clock_offset_ms} ms from the server's`],
        ]}
      />
    </section>
  );
}

function Loops({ loops }: { loops: readonly Loop[] }) {
  return (
    <section aria-label="Loops">
      <h2>Background loops</h2>
      <Table label="Background loops">
        <thead>
          <tr>
            <th scope="col">Loop</th>
            <th scope="col">Pool</th>
            <th scope="col" class="num">
              Process
            </th>
            <th scope="col">Last run</th>
            <th scope="col" class="num">
              Took
            </th>
            <th scope="col" class="num">
              Moved
            </th>
            <th scope="col" class="num">
              Late
            </th>
            <th scope="col">Last error</th>
          </tr>
        </thead>
        <tbody>
          {loops.map((loop) => (
            <tr key={`${loop.pid}/${loop.pool}/${loop.name}`}>
              <th scope="row">{loop.name.replaceAll('_', ' ')}</th>
              <td>{loop.pool}</td>
              <td class="num">{loop.pid}</td>
              <td>
                <Ago at={loop.last_run_at} />
              </td>
              <td class="num">{loop.duration_ms === null ? '–' : duration(loop.duration_ms)}</td>
              <td class="num">{count(loop.moved)}</td>
              <td class="num">{loop.lag_ms === null ? '–' : duration(loop.lag_ms)}</td>
              <td>
                {loop.last_error === null ? <span class="dim">none</span> : <Text>{loop.last_error}</Text>}
              </td>
            </tr>
          ))}
        </tbody>
      </Table>
      <ShellLines lines={linesOf({ method: 'GET', path: '/loops' }, null, ['loop', 'ls'])} />
    </section>
  );
}
