import type { Redis } from 'ioredis';
import { QueueError } from '../../domain/errors.js';
import { Calls } from '../calls.js';
import { type Arg, encodeCommand, EncodedCommand } from '../scripts/script.js';
import { scriptText, type ScriptText } from '../scripts/texts.js';

/** Maximum number of calls that share one wait: Redis runs them one after the other. */
const CALLS_IN_A_ROUND = 32;
/** Status of a reply whose script has done its work. */
const DONE = 0;
/** A script that writes but changes nothing. Sent alone, it proves what was written before it. */
export const MARK = 'maintenance/mark_connection';

/** The command that waits for the writes to be safe, and the check of its reply. */
export interface Proof {
  readonly command: readonly (string | number)[];
  /** What is missing, as text for people; undefined if nothing is. */
  missing(answer: unknown): string | undefined;
}

interface Call {
  readonly name: string;
  readonly args: readonly Arg[];
  /** Redis does not have the script under its digest. */
  needsText: boolean;
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Outcome of a call, before the proof. */
type Outcome = { readonly reply: unknown } | { readonly error: Error };

/**
 * One connection to one Redis that answers calls when their writes are proved safe. A wait only covers the writes of
 * its own connection, and blocks it. So calls that arrive meanwhile share the next round, with one wait for all of
 * them.
 */
export class DurableConnection {
  private readonly waiting: Call[] = [];
  private readonly calls: Calls;
  private isBusy = false;

  /**
   * @param scriptOf the text of a script for this Redis
   * @param limitMs a round that takes longer counts as a lost connection, in milliseconds
   * @param renew replaces the connection: it may lead to the wrong Redis, or to none
   */
  constructor(
    pool: string,
    private readonly client: Redis,
    private readonly proof: Proof,
    private readonly scriptOf: (name: string) => ScriptText,
    limitMs: number,
    private readonly renew: () => void,
  ) {
    this.calls = new Calls(pool, limitMs, () => undefined);
    client.on('close', () => this.calls.failAll('connection lost'));
  }

  /**
   * Sends a script.
   *
   * @returns its reply, when its writes are safe; at once if it has written nothing
   * @throws {QueueError} `not_replicated`: it has done its work, but its writes were not safe in time
   */
  send(name: string, args: readonly Arg[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ name, args, needsText: false, resolve, reject });
      if (!this.isBusy) void this.work();
    });
  }

  /** Runs rounds until no calls are waiting. */
  private async work(): Promise<void> {
    this.isBusy = true;
    while (this.waiting.length > 0) {
      const calls = this.waiting.splice(0, /* guard: calls-share-the-next-wait */ CALLS_IN_A_ROUND);
      try {
        await this.calls.attempt(() => this.round(calls));
      } catch (error) {
        const reason = error instanceof Error ? error : new Error(String(error));
        for (const call of calls) call.reject(reason);
        this.renew();
      }
    }
    this.isBusy = false;
  }

  /** Sends calls, mark and wait in one go, so that no other connection can come in between. */
  private async round(calls: readonly Call[]): Promise<void> {
    const outcomes = calls.map((call) => this.evaluate(call));
    const routing = String(calls.at(-1)?.args[1]);
    const mark = this.command(['EVAL', scriptText(MARK).text, 1, routing], routing);
    const proof = this.command(this.proof.command, routing).then(
      (answer) => this.proof.missing(answer),
      (error: unknown) => {
        // The outcome of the writes is unknown: the master may have become a replica.
        throw new Error('connection lost: the wait was refused', { cause: error });
      },
    );
    await Promise.all([mark, proof]);
    const missing = await proof;
    // A master that was cut off has no replicas any more, and may not be the master.
    if (missing !== undefined) this.renew();
    const ended = await Promise.all(outcomes);
    calls.forEach((call, i) => this.settle(call, ended[i], missing));
  }

  private settle(call: Call, outcome: Outcome | undefined, missing: string | undefined): void {
    if (outcome === undefined) return;
    if ('error' in outcome) {
      if (!outcome.error.message.startsWith('NOSCRIPT') || call.needsText) call.reject(outcome.error);
      else {
        call.needsText = true;
        this.waiting.push(call);
      }
      return;
    }
    const { reply } = outcome;
    const hasDone =
      // guard: namespace-list-own-node
      call.name === MARK || (Array.isArray(reply) && reply[0] === DONE);
    // guard: unreplicated-is-refused
    if (hasDone && missing !== undefined) call.reject(new QueueError('not_replicated', missing));
    else call.resolve(reply);
  }

  private evaluate({ name, args, needsText }: Call): Promise<Outcome> {
    const { text, sha } = this.scriptOf(name);
    const command = needsText ? ['EVAL', text, ...args] : ['EVALSHA', sha, ...args];
    return this.command(command, String(args[1])).then(
      (reply) => ({ reply }),
      (error: unknown) => ({ error: error instanceof Error ? error : new Error(String(error)) }),
    );
  }

  private command(args: readonly Arg[], routing: string): Promise<unknown> {
    const command = new EncodedCommand(encodeCommand(args), routing);
    return this.client.sendCommand(command) as Promise<unknown>;
  }
}
