import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { Audit } from '../engine/audit.js';
import { BuiltServer } from '../support/built-server.js';
import type { FailoverGroup } from '../support/failover-group.js';
import { randomFrom } from '../support/random.js';
import { randomNamespace, waitFor } from '../support/redis.js';
import { FailoverClients } from './failover-clients.js';
import { Journal, type Entry } from './journal.js';
import { SEED } from '../support/scale.js';

export const CONSUMERS = 16;
const DRAIN_MS = 60_000;

/** What a run over failovers has cost, by the journal alone. */
export interface Damage {
  readonly accepted: number;
  /** Accepted, and neither acknowledged nor in the store: ids. */
  readonly lost: readonly string[];
  /** Delivered, but never sent by a producer: bodies. */
  readonly unexpected: readonly string[];
  /** The longest time without any job accepted, in milliseconds. */
  readonly gapMs: number;
  readonly refused: number;
}

/** Two servers over a Sentinel group, their clients, and the check of the clients' records at the end. */
export class FailoverTrial {
  readonly namespace = randomNamespace('failover');
  readonly journal = new Journal();
  readonly random = randomFrom(SEED);
  private readonly servers: BuiltServer[] = [];
  private token = '';
  private running: FailoverClients | undefined;

  constructor(private readonly group: FailoverGroup) {}

  /**
   * @param consumers those who begin at once: what is lost would be done before it is missed
   * @param sentinels where the servers find the sentinels
   */
  async start(
    durability: string,
    consumers = CONSUMERS,
    sentinels = this.group.sentinels,
  ): Promise<FailoverClients> {
    const env = {
      PUMPHOUSE_POOLS__DEFAULT__SENTINELS: sentinels
        .map(({ host, port }) => `${host}:${String(port)}`)
        .join(),
      PUMPHOUSE_POOLS__DEFAULT__MASTER_NAME: 'mymaster',
      PUMPHOUSE_POOLS__DEFAULT__DURABILITY: durability,
    };
    for (let i = 0; i < 2; i++) this.servers.push(await BuiltServer.create(env));
    await Promise.all(this.servers.map((server) => server.start()));
    this.token = await this.servers[0]!.token(this.namespace);
    this.running = this.clients(consumers);
    this.running.start();
    return this.running;
  }

  /** Resolves when so many more jobs have been accepted: some second of load. */
  async acceptedAgain(): Promise<void> {
    const before = this.journal.count('accepted');
    await waitFor(() => this.journal.count('accepted') > before + 300, 60_000);
  }

  /** Ends production, drains the store, sends the clients home, and reckons. */
  async reckon(): Promise<Damage> {
    await this.running?.endProduction();
    const { port } = await this.group.master();
    const client = new Redis(port, '127.0.0.1', { protocol: 2 });
    try {
      const key = (kind: string): string => `{${this.namespace}}:${kind}1`;
      await waitFor(async () => (await client.exists(key('r'), key('l'), key('s'))) === 0, DRAIN_MS);
      await this.running?.end();
      expect(await Audit.of(client, this.namespace)).toEqual([]);
    } finally {
      client.disconnect();
    }
    return this.report(damageOf(this.journal.entries));
  }

  async end(): Promise<void> {
    await this.running?.end();
    for (const server of this.servers) await server.remove();
  }

  private clients(consumers: number): FailoverClients {
    const { namespace, token, random } = this;
    const urls = this.servers.map(({ url }) => url);
    return new FailoverClients({ urls, namespace, token, random, producers: 8, consumers }, this.journal);
  }

  private report(damage: Damage): Damage {
    const { accepted, lost, refused, gapMs } = damage;
    const faults = this.journal.count('fault');
    console.log(
      `seed ${String(SEED)}: ${String(faults)} faults, ${String(accepted)} accepted, ${String(lost.length)} lost, ` +
        `${String(refused)} refused, longest time without an accepted job ${gapMs.toFixed(0)} ms`,
    );
    if (lost.length > 0) {
      const file = join(mkdtempSync(join(tmpdir(), 'pumphouse-failover-')), 'journal.jsonl');
      writeFileSync(file, this.journal.entries.map((entry) => JSON.stringify(entry)).join('\n'));
      console.log(`what the clients saw: ${file}`);
    }
    return damage;
  }
}

/** The rules are few: a failover may take leases and acknowledgements with it, so that jobs come again. */
export function damageOf(entries: readonly Entry[]): Damage {
  const sent = new Set<string>();
  const acked = new Set<string>();
  const accepted = new Set<string>();
  const unexpected: string[] = [];
  let refused = 0;
  let gapMs = 0;
  let lastMs: number | undefined;
  for (const entry of entries) {
    if (entry.op === 'publish') sent.add(entry.body);
    if (entry.op === 'acked') acked.add(entry.id);
    if (entry.op === 'failed') refused++;
    if (entry.op === 'delivered' && !sent.has(entry.body)) unexpected.push(entry.body);
    if (entry.op !== 'accepted') continue;
    accepted.add(entry.id);
    gapMs = Math.max(gapMs, entry.atMs - (lastMs ?? entry.atMs));
    lastMs = entry.atMs;
  }
  const lost = [...accepted].filter((id) => !acked.has(id));
  return { accepted: accepted.size, lost, unexpected, gapMs, refused };
}
