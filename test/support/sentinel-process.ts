import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NodeAddress } from '../../src/domain/pool.js';
import { endWithUs } from './redis-process.mjs';
import { freePort, waitFor } from './redis.js';

/** A running sentinel. */
export interface SentinelProcess {
  readonly address: NodeAddress;
  readonly pid: number;
  stop(): Promise<void>;
}

export interface SentinelOptions {
  readonly masterPort: number;
  /** By default any free one. */
  readonly port?: number;
  /** Then it listens there, with TLS only. */
  readonly tlsPort?: number;
  /** Of the election that made the master one. */
  readonly epoch?: number;
  readonly quorum?: number;
  /** Further lines of its configuration. */
  readonly lines?: readonly string[];
}

/** Starts a sentinel that watches a master on this machine under the name `mymaster`, and waits until it answers. */
export async function startSentinel(options: SentinelOptions): Promise<SentinelProcess> {
  const { masterPort, tlsPort, epoch = 0, quorum = 1, lines = [] } = options;
  const port = tlsPort ?? options.port ?? (await freePort());
  const dir = mkdtempSync(join(tmpdir(), 'pumphouse-sentinel-'));
  const file = join(dir, 'sentinel.conf');
  const settings = [
    ...(tlsPort === undefined ? [`port ${String(port)}`] : ['port 0', `tls-port ${String(port)}`]),
    ...['bind 127.0.0.1', `dir ${dir}`],
    // What its other lines are about may need them: TLS.
    ...lines.filter((line) => !line.startsWith('sentinel ')),
    `sentinel monitor mymaster 127.0.0.1 ${String(masterPort)} ${String(quorum)}`,
    `sentinel config-epoch mymaster ${String(epoch)}`,
    ...lines.filter((line) => line.startsWith('sentinel ')),
  ];
  writeFileSync(file, settings.join('\n'));
  const child = spawn('redis-server', [file, '--sentinel'], { stdio: 'ignore' });
  const pid = child.pid ?? 0;
  const watch = endWithUs(pid);
  const exited = new Promise((resolve) => child.once('exit', resolve));
  await waitFor(() => isListening(port), 10_000);
  const stop = async (): Promise<void> => {
    watch.kill('SIGKILL');
    child.kill('SIGKILL');
    await exited;
    rmSync(dir, { recursive: true, force: true });
  };
  return { address: { host: '127.0.0.1', port }, pid, stop };
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}
