import { setTimeout as sleep } from 'node:timers/promises';
import type { PoolEngine } from '../../src/engine/pool-engine.js';
import type { Journal } from './journal.js';
import { Poll } from './poll.js';

/**
 * A client that hears nothing for so long goes, in ms: a connection that was on its way to a worker when that was killed is neither
 * answered nor closed by Node.js's cluster.
 */
const LONGEST_MS = 8_000;

/** Clients beside the fleet, until they are ended. */
export interface Bystanders {
  end(): Promise<void>;
}

interface Shared {
  readonly namespace: string;
  readonly random: () => number;
  readonly ttrS: number;
  readonly clients: number;
}

/**
 * Clients of the HTTP API that give up their polls at random. Jobs that reach them completely are recorded, and never
 * acknowledged.
 */
export function startAborting(
  { namespace, random, ttrS, clients }: Shared,
  { ports, token }: { readonly ports: readonly number[]; readonly token: string },
  journal: Journal,
): Bystanders {
  return startAll(clients, async () => {
    const sentMs = performance.now();
    const port = ports[Math.floor(random() * ports.length)]!;
    const path = `/api/${namespace}/orders?timeout=5&ttr=${ttrS}`;
    const poll = new Poll(port, `GET ${path} HTTP/1.1\r\nHost: x\r\nX-Token: ${token}\r\n\r\n`, LONGEST_MS);
    const isRude = random() < 0.5;
    const timer = setTimeout(() => (isRude ? poll.cut() : poll.giveUp()), 20 + random() * 300);
    const [head, text] = (await poll.answer()).split('\r\n\r\n');
    clearTimeout(timer);
    if (head?.startsWith('HTTP/1.1 200') && text?.endsWith('}')) {
      const { job_id, data, remain_tries } = JSON.parse(text) as Record<string, unknown>;
      const body = Buffer.from(String(data), 'base64').toString();
      const triesLeft = Number(remain_tries);
      journal.add({ op: 'delivered', id: String(job_id), body, sentMs, triesLeft });
    }
    await sleep(random() * 100);
  });
}

/** Workers of the engine itself, which know their leases by number. Now and then one is slower than its lease. */
export function startLeaseholders(
  { namespace, random, ttrS, clients }: Shared,
  engine: PoolEngine,
  journal: Journal,
): Bystanders {
  const request = { queues: ['orders'], count: 1, ttrMs: ttrS * 1_000, waitMs: 500 };
  return startAll(clients, async () => {
    const sentMs = performance.now();
    const jobs = await engine.lease(namespace, request).catch(() => sleep(50, []));
    for (const { id, body, lease, triesLeft } of jobs) {
      journal.add({ op: 'delivered', id, body: body.toString(), sentMs, triesLeft, lease });
      if (random() < 0.03) await sleep(ttrS * 1_000 + 300);
      await acknowledge(engine, namespace, { id, lease }, journal);
    }
    await sleep(random() * 40);
  });
}

/** Repeats an ack until its result is known: a lost lease means that another worker has the job. */
async function acknowledge(
  engine: PoolEngine,
  namespace: string,
  { id, lease }: { id: string; lease: number },
  journal: Journal,
): Promise<void> {
  for (let patience = 100; patience > 0; patience--) {
    const sentMs = performance.now();
    try {
      if (await engine.ack(namespace, 'orders', id, lease)) journal.add({ op: 'acked', id, lease, sentMs });
      // Gone: by one of ours of which no answer came, for the engine itself sends an acknowledgement again. The work is done.
      else journal.add({ op: 'acked', id });
      return;
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'lease_lost') return;
      await sleep(50);
    }
  }
}

function startAll(clients: number, round: () => Promise<void>): Bystanders {
  const state = { isOver: false };
  const all = Array.from({ length: clients }, async () => {
    while (!state.isOver) await round();
  });
  return {
    end: async () => {
      state.isOver = true;
      await Promise.all(all);
    },
  };
}
