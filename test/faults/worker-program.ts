/**
 * A worker in a process of its own, that writes all it does into a journal: `worker-program.ts SETTINGS`, as JSON. What is
 * written is there after SIGKILL, too.
 */
import { openSync, writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { LeaseRef } from '../../packages/client/src/node.js';
import type { JobData, ProgramSettings, WorkerStep } from './worker-journal.js';

const settings = JSON.parse(process.argv[2] ?? '') as ProgramSettings;
const { ttrMs, queue } = settings;
const journal = openSync(settings.journal, 'a');
const write = (step: WorkerStep): void =>
  void writeSync(journal, `${JSON.stringify({ ...step, atMs: Date.now() })}\n`);

/** How long a handler waits for news of its lease, when the process has stood still. */
const NEWS_MS = 200;
/** A handler that blocks the event loop does so for so many leases. */
const BLOCKED_LEASES = 1.5;

const pumphouse = await open();
const { driver } = pumphouse;
const sendAcks = driver.ack.bind(driver);
driver.ack = async (acks) => {
  for (const { id, lease } of acks) write({ what: 'acking', id, lease });
  const statuses = await watched(sendAcks(acks));
  acks.forEach(({ id, lease }, i) => write({ what: 'answered', id, lease, status: statuses[i] ?? 'none' }));
  return statuses;
};

const sendHeartbeat = driver.heartbeat.bind(driver);
driver.heartbeat = (lease, options) => watched(sendHeartbeat(lease, options));
// Earlier versions have no sessions.
const sendSession = (driver as Partial<typeof driver>).heartbeatSession?.bind(driver);
if (sendSession) driver.heartbeatSession = (heartbeat) => watched(sendSession(heartbeat));

const worker = pumphouse.worker({
  ...{ queues: [queue], ttrMs, waitMs: 1_000, concurrency: 5, prefetch: 2, shutdownGraceMs: 15_000 },
  name: settings.name,
  logger: {
    warn: (message, { blockedMs }) => {
      if (typeof blockedMs === 'number') write({ what: 'stalled', ms: blockedMs });
      else write({ what: 'warned', message });
    },
    error: (message, { error }) => write({ what: 'warned', message: `${message}: ${String(error)}` }),
  },
});
worker.handle('*', async ({ id, lease, attempts, data }, { signal }) => {
  write({ what: 'begun', id, lease, attempts });
  const codeOf = (): string => (signal.reason as { code: string }).code;
  signal.addEventListener('abort', () => write({ what: 'aborted', id, lease, code: codeOf() }));
  const { ms, does } = data as JobData;
  const begunMs = performance.now();
  if (does === 'block' && attempts === 1) block(ttrMs * BLOCKED_LEASES);
  await sleep(ms);
  const isLate = performance.now() - begunMs > ms + ttrMs;
  if (does === 'throw' && attempts === 1) {
    write({ what: 'failed', id, lease });
    throw new Error('the first attempt fails');
  }
  write({ what: 'ended', id, lease });
  if (isLate) await tryToAckLate({ id, lease, queue }, signal);
  return { by: settings.name };
});
write({ what: 'running' });
await worker.run({ signals: true });
if ('close' in pumphouse) await pumphouse.close();
write({ what: 'stopped' });

/** Writes that a call has failed, and how long ago it was sent. */
async function watched<T>(call: Promise<T>): Promise<T> {
  const sentMs = performance.now();
  try {
    return await call;
  } catch (error) {
    const { code = 'none' } = error as { code?: string };
    write({ what: 'unanswered', ms: Math.round(performance.now() - sentMs), code });
    throw error;
  }
}

async function open() {
  if (settings.mode === 'http') {
    const { Pumphouse } = (await import(
      settings.library
    )) as typeof import('../../packages/client/src/node.js');
    const { url, namespace, token } = settings;
    return new Pumphouse({ url, namespace, token });
  }
  const { connect } = (await import(settings.library)) as typeof import('../../packages/engine/src/index.js');
  return connect({ redis: settings.url, namespace: settings.namespace, commandTimeoutMs: 500 });
}

/** What the runtime never does: an acknowledgement under a lease that is in doubt. */
async function tryToAckLate(lease: LeaseRef, signal: AbortSignal): Promise<void> {
  await sleep(NEWS_MS);
  if (!signal.aborted) return;
  const [status = 'none'] = await sendAcks([{ ...lease, result: { json: '"late"' } }]).catch(() => [
    'no answer',
  ]);
  write({ what: 'late', id: lease.id, lease: lease.lease, status });
}

function block(ms: number): void {
  // Before it: the process may be killed meanwhile.
  write({ what: 'blocking', ms });
  const endMs = performance.now() + ms;
  while (performance.now() < endMs);
}
