import { Command, type Redis } from 'ioredis';
import { faultOf, type RedisFault } from './errors.js';
import { parseInfo } from './parse-info.js';
import { type Arg, encodeCommand } from './scripts/script.js';

/** Redis refused what a connection needs before its first command: to wait and try again would not help. */
export class SetUpError extends Error {}

/** Sends a command before the connection is ready, when the driver lets no other through. */
export type Send = (...args: readonly Arg[]) => Promise<unknown>;

/** What else must be true of a Redis before its connection is used. @throws {SetUpError} it is not */
export type Admit = (send: Send, facts: ReadonlyMap<string, string>) => Promise<void>;

/** The driver sends these before it says that a connection is ready, and ignores most refusals. */
const STEPS = ['auth', 'select', 'client', 'readonly'] as const;
/** What the driver tells about itself: Redis has it since 7.2, and needs it for nothing. */
const OPTIONAL = 'SETINFO';

/** The event of a connection whose Redis still loads its data. */
export const LOADS = 'loads';

/** What stays refused until a person changes something. */
const FINAL: ReadonlySet<RedisFault> = new Set(['denied', 'other']);

type Step = (...args: unknown[]) => Promise<unknown>;
type Info = (done?: (error: unknown, text?: string) => void) => Promise<string>;

/** A command that the driver takes for one of its own. */
class SetUpCommand extends Command {
  constructor(private readonly bytes: Buffer) {
    super('info', [], { replyEncoding: 'utf8' });
  }

  override toWritable(): Buffer {
    return this.bytes;
  }
}

/**
 * Makes a connection ready only if Redis has accepted all of its set-up: the driver sends AUTH, SELECT, CLIENT SETNAME and READONLY, and
 * takes a connection into use whatever the answers to most of them. A refused SELECT, for example, leaves it in database 0. The driver
 * closes a connection that is refused here, and tries again later.
 *
 * @param admit further checks
 * @param isSingle it must be no node of a Cluster
 */
export function checkSetUp<T extends Redis>(
  redis: T,
  admit: Admit = () => Promise.resolve(),
  isSingle = false,
): T {
  let refusal: Error | undefined;
  redis.on('close', () => (refusal = undefined));
  for (const step of STEPS) {
    const send = (redis[step] as Step).bind(redis);
    const watched: Step = (...args) =>
      send(...args).catch((error: unknown) => {
        if (args[0] === OPTIONAL) throw error;
        const reason = refusalOf(titleOf(step, args), error);
        // guard: refused-set-up-is-kept
        refusal ??= reason;
        // The driver would report it before INFO tells the mode: a Sentinel refuses SELECT and AUTH, too.
        if (!(reason instanceof SetUpError) || !redis.options.enableReadyCheck) throw reason;
      });
    Object.defineProperty(redis, step, { value: watched });
  }
  const readInfo = redis.info.bind(redis) as Info;
  const send: Send = (...args) =>
    (redis.sendCommand(new SetUpCommand(encodeCommand(args))) as Promise<unknown>).catch((error: unknown) => {
      throw refusalOf(String(args[0]), error);
    });
  const settle = async (): Promise<string> => {
    const text = await readInfo().catch((error: unknown) => {
      throw refusal ?? refusalOf('INFO', error);
    });
    const facts = parseInfo(text);
    checkMode(facts, isSingle);
    if (refusal !== undefined) throw refusal;
    // The driver tries again later, and reports nothing.
    if (facts.get('loading') === '1') redis.emit(LOADS);
    else await admit(send, facts);
    return text;
  };
  // The driver's last step, with a callback; all others call it without one.
  const info: Info = (done) => {
    if (done === undefined) return readInfo();
    const answer = settle();
    answer.then(
      (text) => done(null, text),
      (error: unknown) => done(error),
    );
    return answer;
  };
  Object.defineProperty(redis, 'info', { value: info });
  return redis;
}

/** @throws {SetUpError} it holds no data, or only a part of them: each command would fail by itself */
function checkMode(facts: ReadonlyMap<string, string>, isSingle: boolean): void {
  const mode = facts.get('redis_mode') ?? facts.get('server_mode');
  if (mode === 'sentinel') {
    throw new SetUpError(
      'this is a Sentinel, which holds no data: set sentinels = ["host:port"] and master_name in the place of url or cluster',
    );
  }
  if (isSingle && mode === 'cluster')
    throw new SetUpError('this is a node of a Cluster: set cluster = ["host:port"] in the place of url');
}

/** The error for a command that Redis refused for good, without what the driver would take for something else; any other as it is. */
function refusalOf(command: string, error: unknown): Error {
  if (!(error instanceof Error)) return new Error(String(error));
  if (error.name !== 'ReplyError' || !FINAL.has(faultOf(error))) return error;
  const { message } = error;
  const reason = /no password is set|without any password configured/.test(message)
    ? 'this Redis has no password, but one is configured'
    : message.replace(/^NOPERM /, '');
  return new SetUpError(`${command} was refused: ${reason}`, { cause: error });
}

/** A step as people write it; without the password. */
function titleOf(step: (typeof STEPS)[number], args: readonly unknown[]): string {
  const name = step.toUpperCase();
  if (step === 'select') return `${name} ${String(args[0])}`;
  return step === 'client' ? `${name} ${String(args[0]).toUpperCase()}` : name;
}
