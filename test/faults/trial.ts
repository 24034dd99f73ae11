import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Redis } from 'ioredis';
import { decodeId } from '../../src/engine/core/ids.js';
import { Audit } from '../engine/audit.js';
import { randomFrom } from '../support/random.js';
import { randomNamespace, waitFor } from '../support/redis.js';
import { Fleet, type FleetOptions } from './fleet.js';
import { check, isSound, recovered, type Verdict } from './checkers.js';
import { Journal, readHistory, type History } from './journal.js';
import { PAUSE_MS, SEED } from '../support/scale.js';

/** Short, so that the lease of an answer that was lost with its server comes back soon. */
export const TTR_S = 2;
const TRIES = 5;
/** Leases of one job that may run out uncharged, their server having died: lua/modules/jobs/deliveries.lua. */
const MAX_FREE_RETRIES = 3;
const DRAIN_MS = 60_000;

/** Where histories are kept, also of sound runs. */
const KEPT = process.env['PUMPHOUSE_CHAOS_HISTORY'];
const SOUND: Verdict = { lost: [], unexpected: [], duplicated: [], leases: [] };

/** One run: clients on their own namespace, faults, and the check of the clients' records at the end. */
export class Trial {
  readonly namespace = randomNamespace('chaos');
  readonly journal = new Journal();
  readonly random = randomFrom(SEED);
  private fleet: Fleet | undefined;
  private tries = TRIES;

  /** @param options the addresses, a token for the namespace, and how much the clients do; 24 consumers and 8 producers by default */
  start(options: Pick<FleetOptions, 'urls' | 'token' | 'jobs'> & Partial<FleetOptions>): Fleet {
    const { namespace, random } = this;
    const usual = { namespace, random, producers: 8, consumers: 24, pauseMs: PAUSE_MS, maxDelayS: 0 };
    this.tries = options.tries ?? TRIES;
    this.fleet = new Fleet({ ...usual, ttrS: TTR_S, tries: TRIES, ...options }, this.journal);
    this.fleet.start();
    return this.fleet;
  }

  /** Lets the producers bring what they have under way, and no more. */
  async endProduction(): Promise<void> {
    await this.fleet?.endProduction();
  }

  /**
   * Ends production, waits until no job is ready or leased, ends the clients, and checks the saved history.
   *
   * @param redis options of a connection to the servers' Redis
   * @param mayRepeat its Redis was killed, or a connection to it cut. A publish whose reply was lost with it is sent
   * again, and finds no trace of its job if that is done by then
   * @param promised the checkers that must find nothing
   * @returns the history that was checked
   */
  async judge(
    redis: { port: number } | { path: string },
    mayRepeat = false,
    promised: readonly (keyof Verdict)[] = ['lost', 'unexpected', 'duplicated', 'leases'],
  ): Promise<History> {
    await this.endProduction();
    // By number: a machine may be without a resolver.
    const client = new Redis({ host: '127.0.0.1', ...redis, protocol: 2 });
    try {
      const key = (kind: string): string => `{${this.namespace}}:${kind}1`;
      const isDrained = async (): Promise<boolean> =>
        (await client.exists(key('r'), key('l'), key('s'))) === 0;
      await waitFor(isDrained, DRAIN_MS).catch(() => undefined);
      await this.end();
      const members = await client.zrangeBuffer(key('d'), '0', '-1');
      const dead = members.map((member) => decodeId(member));
      const file = this.save(dead, mayRepeat);
      const history = readHistory(file);
      const found = check(history);
      const verdict = { ...SOUND, ...Object.fromEntries(promised.map((name) => [name, found[name]])) };
      const audit = await Audit.of(client, this.namespace);
      this.report(history, file, isSound(verdict) && audit.length === 0);
      expect(verdict).toEqual(SOUND);
      expect(audit).toEqual([]);
      return history;
    } finally {
      client.disconnect();
    }
  }

  /** Sends the clients home. May be called twice. */
  async end(): Promise<void> {
    await this.fleet?.end();
    this.fleet = undefined;
  }

  private save(dead: readonly string[], mayRepeat: boolean): string {
    if (KEPT !== undefined) mkdirSync(KEPT, { recursive: true });
    const dir = KEPT ?? mkdtempSync(join(tmpdir(), 'pumphouse-chaos-'));
    const file = join(dir, `${this.namespace}.jsonl`);
    this.journal.save(file, {
      seed: SEED,
      ttrMs: TTR_S * 1_000,
      tries: this.tries,
      freeRetries: MAX_FREE_RETRIES,
      dead,
      mayRepeat,
    });
    return file;
  }

  private report(history: History, file: string, isSound: boolean): void {
    const counts = (['accepted', 'delivered', 'failed', 'fault'] as const).map(
      (op) => `${op} ${this.journal.count(op)}`,
    );
    const { dead } = history.rules;
    console.log(
      `PUMPHOUSE_CHAOS_SEED=${SEED}: ${counts.join(', ')}, recovered ${recovered(history).length}, dead ${dead.length}`,
    );
    if (!isSound) console.log(`what the clients saw: node scripts/checks/history.mjs ${file}`);
    else if (KEPT === undefined) rmSync(dirname(file), { recursive: true });
  }
}
