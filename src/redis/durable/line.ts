import { type Redis } from 'ioredis';
import { QueueError } from '../../domain/errors.js';
import { Calls } from '../calls.js';
import { scriptText, type Arg, type ScriptText } from '../scripts/script.js';
import { encodeCommand, EncodedCommand } from '../wire.js';

/** Calls that one wait answers for, at most: they hold Redis one after the other. */
const CALLS_IN_A_ROUND = 32;
/** Stands first in what a script answers that has done its work. */
const DONE = 0;
/** The script that writes what changes nothing. Sent for itself, it asks for the proof of what was written before it. */
export const MARK = 'mark';

/** What is asked of Redis after the writes, and whether its answer will do. */
export interface Proof {
  readonly command: readonly (string | number)[];
  /** What is missing, for people; undefined if nothing is. */
  missing(answer: unknown): string | undefined;
}

interface Call {
  readonly name: string;
  readonly args: readonly Arg[];
  /** Redis does not know the script by its digest. */
  needsText: boolean;
  readonly resolve: (reply: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** How a call ended, before the proof. */
type Outcome = { readonly reply: unknown } | { readonly error: Error };

/**
 * One connection to one Redis, whose calls are answered when what they wrote is proved safe. A wait speaks only for what its own
 * connection has seen, and holds that connection up: so calls that come meanwhile go together in the next round, with one wait for all
 * of them.
 */
export class DurableLine {
  private readonly waiting: Call[] = [];
  private readonly calls: Calls;
  private isBusy = false;

  /**
   * @param scriptOf the text of a script as this Redis is to run it
   * @param limitMs a round that takes longer has lost its connection, in milliseconds
   * @param renew has the connection replaced: it may lead to the wrong Redis by now, or nowhere
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
   * @returns its reply, when what it did is safe; if it has done nothing, at once
   * @throws {QueueError} `not_replicated`: it has done its work, which is not safe in time
   */
  send(name: string, args: readonly Arg[]): Promise<unknown> {
    return new Promise((resolve, reject) => {
      this.waiting.push({ name, args, needsText: false, resolve, reject });
      if (!this.isBusy) void this.work();
    });
  }

  /** Rounds until nobody waits. */
  private async work(): Promise<void> {
    this.isBusy = true;
    while (this.waiting.length > 0) {
      const calls = this.waiting.splice(0, CALLS_IN_A_ROUND);
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

  /** All in one breath, so that no other connection can come in between: calls, mark, wait. */
  private async round(calls: readonly Call[]): Promise<void> {
    const outcomes = calls.map((call) => this.evaluate(call));
    const routing = String(calls.at(-1)?.args[1]);
    const mark = this.command(['EVAL', scriptText(MARK).text, 1, routing], routing);
    const proof = this.command(this.proof.command, routing).then(
      (answer) => this.proof.missing(answer),
      (error: unknown) => {
        // Nobody knows what became of the writes: the master may have become a replica.
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
    const hasDone = call.name === MARK || (Array.isArray(reply) && reply[0] === DONE);
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
