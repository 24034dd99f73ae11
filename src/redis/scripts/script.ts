import { faultOf } from '../errors.js';
import type { Library } from '../lua/loader.js';
import type { Signature } from '../lua/command-header.js';
import { SIGNATURES } from './signatures.generated.js';
import {
  functionsOf,
  labelOf,
  scriptLibrary,
  scriptText,
  type ScriptText,
  scriptTextWhenFull,
  withOrigin,
  type WakeStyle,
} from './texts.js';
import { Command } from 'ioredis';

/** What a script takes: bytes go as they are. */
export type Arg = string | number | Buffer;

/** A command of `lua/commands`: its path there, without `.lua`. */
export type CommandName = keyof typeof SIGNATURES;
type NamesOf<N extends CommandName, L extends keyof Signature> = (typeof SIGNATURES)[N][L][number];

/** What the header of a command does not say of its script. */
interface Rules<R> {
  /** May be sent again when it is not known whether it ran. */
  readonly repeatable: boolean;
  /** Checks and decodes the reply. */
  readonly reply: (raw: unknown) => R;
  /** How many operations the items of a call are, if not one each. */
  readonly count?: (items: readonly Item[]) => number;
}

/** A script's binding: the names of its keys, of its arguments, and of those of an item, as the header of its command has them. */
export interface Script<K extends string, A extends string, I extends string, R> extends Rules<R> {
  readonly name: string;
  /** Its name in metrics and errors, by `labelOf`. */
  readonly label: string;
  readonly keys: readonly K[];
  readonly args: readonly A[];
  /** Empty if the command takes no items. */
  readonly item: readonly I[];
}

/** Declares the script of a command. A missing key or a misspelt argument does not compile at the call. */
export function script<const N extends CommandName, R>(
  name: N,
  rules: Rules<R>,
): Script<NamesOf<N, 'keys'>, NamesOf<N, 'args'>, NamesOf<N, 'item'>, R> {
  return { name, label: labelOf(name), ...SIGNATURES[name], ...rules };
}

/**
 * Checks and decodes the reply of a script.
 *
 * @throws {TypeError} it is not a reply of this script; the message begins with the label
 */
export function replyOf<R>(
  { label, reply }: Pick<Script<never, never, never, R>, 'label' | 'reply'>,
  raw: unknown,
): R {
  try {
    return reply(raw);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    throw new TypeError(/* guard: reply-error-names-script */ `${label}: ${message}`, { cause: error });
  }
}

/**
 * The arguments of one item of a batch, in the order in which the command names them. A tuple, unlike the named keys and arguments:
 * with 64 items in a call, a lookup of each by name was a thirtieth of a publish.
 */
export type Item = readonly Arg[];

/**
 * The arguments of a call, keys first, in the order of the binding, not of the caller.
 *
 * @throws {TypeError} an item has more or fewer arguments than the binding names
 */
export function flatten<K extends string, A extends string, R>(
  binding: Script<K, A, string, R>,
  keyOf: Readonly<Record<K, string>>,
  argOf: Readonly<Record<A, Arg>>,
  items: readonly Item[],
): Arg[] {
  const flat: Arg[] = [binding.keys.length];
  for (const key of binding.keys) flat.push(keyOf[key]);
  for (const arg of binding.args) flat.push(argOf[arg]);
  const size = binding.item.length;
  for (const item of items) {
    if (item.length !== size)
      throw new TypeError(`an item of ${binding.label} has ${String(size)} arguments`);
    for (const arg of item) flat.push(arg);
  }
  return flat;
}

/** A reply that is a flat array of integers and byte strings. */
export function flatReply(raw: unknown): readonly (number | Buffer)[] {
  if (!Array.isArray(raw)) throw new TypeError('the reply is no array');
  return raw as readonly (number | Buffer)[];
}

/** An integer of a reply. */
export function integerAt(reply: readonly (number | Buffer)[], index: number): number {
  const value = reply[index];
  if (typeof value !== 'number') throw new TypeError(`the reply has no integer at ${String(index)}`);
  return value;
}

/** A byte string of a reply. */
export function bytesAt(reply: readonly (number | Buffer)[], index: number): Buffer {
  const value = reply[index];
  if (!Buffer.isBuffer(value)) throw new TypeError(`the reply has no bytes at ${String(index)}`);
  return value;
}

/** What every script of the engine returns first. */
export interface Answer {
  /** 0 done; nothing has changed: 1 too late, the callers have given up, 2 the namespace is not registered. */
  readonly status: number;
  /** Redis's time when it ran, Unix ms. */
  readonly nowMs: number;
}

/** One code per item of the batch; the header of the command explains them. */
export interface Codes extends Answer {
  readonly codes: readonly number[];
}

/** The rest of the reply, for the engine to read. */
export interface Raw extends Answer {
  readonly raw: readonly (number | Buffer)[];
}

export function answer(reply: readonly (number | Buffer)[]): Answer {
  return { status: integerAt(reply, 0), nowMs: integerAt(reply, 1) };
}

const DIGIT_ZERO = 48;

export function codes(raw: unknown): Codes {
  const reply = flatReply(raw);
  return { ...answer(reply), codes: reply.length > 2 ? digitsOf(bytesAt(reply, 2)) : [] };
}

/** Codes, and byte strings after them that belong to some of the items. */
export interface CodesAndTexts extends Codes {
  readonly texts: readonly Buffer[];
}

export function codesAndTexts(raw: unknown): CodesAndTexts {
  const reply = flatReply(raw);
  const { status, nowMs, codes: all } = codes(reply);
  return { status, nowMs, codes: all, texts: reply.length > 3 ? (reply.slice(3) as Buffer[]) : NO_TEXTS };
}

const NO_TEXTS: readonly Buffer[] = [];

function digitsOf(text: Buffer): number[] {
  const digits: number[] = [];
  for (let i = 0; i < text.length; i++) digits.push((text[i] ?? 0) - DIGIT_ZERO);
  return digits;
}

export function whole(raw: unknown): Raw {
  const reply = flatReply(raw);
  return { ...answer(reply), raw: reply };
}

/** Leases of one queue that expired: how many jobs went back to their ready list, and how many died. */
export interface ExpiredLease {
  readonly queue: string;
  readonly returned: number;
  readonly died: number;
}

/** The end of a reply, as lua/modules/jobs/deliveries.lua makes it. */
export function expiredLeasesOf(reply: readonly (number | Buffer)[], from: number): ExpiredLease[] {
  const expiredLeases: ExpiredLease[] = [];
  for (let i = from; i < reply.length; i += 3) {
    const [returned, died] = [integerAt(reply, i + 1), integerAt(reply, i + 2)];
    expiredLeases.push({ queue: bytesAt(reply, i).toString(), returned, died });
  }
  return expiredLeases;
}

const CR = 13;
const LF = 10;
const STAR = 42;
const DOLLAR = 36;
const ZERO = 48;
const LAST_ASCII = 127;
/**
 * Shorter arguments are copied here byte by byte: a call into the runtime costs as much as this many loop iterations.
 */
const SHORT = 32;
/** Maximum size of the header and the end of an array or a byte string. */
const FRAME = 24;

/**
 * A command that is already encoded. The driver's own encoder reads each argument three times; with some hundred
 * arguments in a batch that was a twelfth of a publish.
 */
export class EncodedCommand extends Command {
  /** @param routingKey any key of the command: in a Cluster it selects the node */
  constructor(
    private readonly bytes: Buffer,
    routingKey: string,
  ) {
    super('evalsha', ['', '1', routingKey], { replyEncoding: null });
  }

  override toWritable(): Buffer {
    return this.bytes;
  }
}

/**
 * Buffer in which commands are encoded; grows to the longest one, but is released after one larger than any usual
 * batch.
 */
const USUAL_BYTES = 1_048_576;
let scratch = Buffer.allocUnsafeSlow(65_536);

/** Encodes a command in Redis's protocol: an array of byte strings. Text is encoded as UTF-8. */
export function encodeCommand(args: readonly Arg[]): Buffer {
  let at = writeHead(0, STAR, args.length);
  for (const arg of args) {
    if (typeof arg === 'string') at = writeText(at, arg);
    else if (typeof arg === 'number') at = writeText(at, String(arg));
    else at = writeBytes(at, arg);
  }
  const command = Buffer.allocUnsafe(at);
  scratch.copy(command, 0, 0, at);
  if (scratch.length > USUAL_BYTES) scratch = Buffer.allocUnsafeSlow(USUAL_BYTES);
  return command;
}

function writeText(from: number, text: string): number {
  makeRoom(from, text.length * 3);
  if (text.length <= SHORT) {
    let at = writeHead(from, DOLLAR, text.length);
    let seen = 0;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      seen |= code;
      scratch[at++] = code;
    }
    if (/* guard: script-bytes-are-counted */ seen <= LAST_ASCII) return writeEnd(at);
  }
  const at = writeHead(from, DOLLAR, Buffer.byteLength(text));
  return writeEnd(at + scratch.write(text, at, 'utf8'));
}

function writeBytes(from: number, bytes: Buffer): number {
  const { length } = bytes;
  makeRoom(from, length);
  const at = writeHead(from, DOLLAR, length);
  if (length > SHORT) scratch.set(bytes, at);
  else for (let i = 0; i < length; i++) scratch[at + i] = bytes[i] ?? 0;
  return writeEnd(at + length);
}

function writeHead(from: number, mark: number, value: number): number {
  let end = from + 2;
  for (let rest = value; rest >= 10; rest = Math.floor(rest / 10)) end++;
  scratch[from] = mark;
  for (let at = end - 1, rest = value; at > from; at--, rest = Math.floor(rest / 10)) {
    scratch[at] = ZERO + (rest % 10);
  }
  return writeEnd(end);
}

function writeEnd(at: number): number {
  scratch[at] = CR;
  scratch[at + 1] = LF;
  return at + 2;
}

/** Makes room for `bytes` and their frame. */
function makeRoom(at: number, bytes: number): void {
  if (at + bytes + FRAME <= scratch.length) return;
  const larger = Buffer.allocUnsafeSlow(Math.max(scratch.length * 2, at + bytes + FRAME));
  scratch.copy(larger, 0, 0, at);
  scratch = larger;
}

const NOT_LOADED = /^(?:ERR )?Function not found/;
/** The Redis is older than 7, or its user may not call functions. */
const NO_FUNCTIONS = /^(?:ERR unknown (?:command|subcommand)|NOPERM)/;
const LOADED_BY_ANOTHER = /already exists/;

/**
 * Runs scripts: as functions, which Redis makes once, or, before Redis 7, by their digests, for which it makes all functions of the
 * script at each call.
 */
export class ScriptCaller {
  private hasFunctions = true;
  private readonly libraries = new Map<string, Library | null>();
  /** Scripts whose functions were loaded by this process: their other versions were removed then. */
  private readonly loaded = new Set<string>();

  /** @param send sends an encoded command; in a Cluster to the node of the key */
  constructor(
    private readonly send: (command: Buffer, key: string) => Promise<unknown>,
    private readonly style: () => WakeStyle,
  ) {}

  /** Sends a script, once. @param args keys first, behind their number */
  async call(name: string, args: readonly Arg[]): Promise<unknown> {
    try {
      return await this.callOrEvaluate(name, args);
    } catch (error) {
      throw withOrigin(error, name, this.style());
    }
  }

  private async callOrEvaluate(name: string, args: readonly Arg[]): Promise<unknown> {
    const key = String(args[1]);
    const library = this.hasFunctions ? this.libraryOf(name) : null;
    if (library) {
      const command = encodeCommand(['FCALL', library.name, ...args]);
      try {
        return await this.send(command, key);
      } catch (error) {
        this.requireMissing(error);
      }
      try {
        if (await this.load(name, library, key)) return await this.send(command, key);
      } catch (error) {
        this.requireMissing(error);
      }
    }
    return this.evaluate(name, args, key);
  }

  /** Throws any other error than that there is no such function, or that there are no functions at all. */
  private requireMissing(error: unknown): void {
    const message = error instanceof Error ? error.message : '';
    if (NO_FUNCTIONS.test(message)) this.hasFunctions = false;
    else if (/* guard: forgotten-function-is-sent-as-script */ !NOT_LOADED.test(message)) throw error;
  }

  private libraryOf(name: string): Library | null {
    let library = this.libraries.get(name);
    if (library === undefined) {
      library = scriptLibrary(name, this.style());
      this.libraries.set(name, library);
    }
    return library;
  }

  private async evaluate(name: string, args: readonly Arg[], key: string): Promise<unknown> {
    try {
      return await this.sendText(scriptText(name, this.style()), args, key);
    } catch (error) {
      // Redis refused its first write: nothing has changed.
      const whenFull =
        // guard: script-runs-when-full
        faultOf(error) === 'full' ? scriptTextWhenFull(name, this.style()) : null;
      if (whenFull === null) throw error;
      return this.sendText(whenFull, args, key);
    }
  }

  private async sendText({ text, sha }: ScriptText, args: readonly Arg[], key: string): Promise<unknown> {
    try {
      return await this.send(encodeCommand(['EVALSHA', sha, ...args]), key);
    } catch (error) {
      // guard: forgotten-script-is-sent-as-text
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return this.send(encodeCommand(['EVAL', text, ...args]), key);
    }
  }

  /** @returns false if Redis refuses it, as one that is full does; it runs scripts all the same */
  private async load(name: string, { name: ours, text }: Library, key: string): Promise<boolean> {
    if (!this.hasFunctions) return false;
    try {
      await this.send(encodeCommand(['FUNCTION', 'LOAD', text]), key);
    } catch (error) {
      if (!(error instanceof Error) || error.name !== 'ReplyError') throw error;
      if (NO_FUNCTIONS.test(error.message)) this.hasFunctions = false;
      if (!LOADED_BY_ANOTHER.test(error.message)) return false;
    }
    // guard: old-functions-are-removed-once
    if (!this.loaded.has(name)) {
      this.loaded.add(name);
      await this.removeOthers(name, ours, key).catch(() => undefined);
    }
    return true;
  }

  /**
   * Removes other versions of a function. Only once: a server of another version that is still there loads its own again, and they
   * would remove each other's for ever.
   */
  private async removeOthers(name: string, ours: string, key: string): Promise<void> {
    const pattern = `${functionsOf(name)}*`;
    const found = await this.send(encodeCommand(['FUNCTION', 'LIST', 'LIBRARYNAME', pattern]), key);
    for (const other of libraryNames(found)) {
      if (other !== ours) await this.send(encodeCommand(['FUNCTION', 'DELETE', other]), key);
    }
  }
}

/** @param list what FUNCTION LIST answers: of each library its fields, by name */
function libraryNames(list: unknown): string[] {
  if (!Array.isArray(list)) return [];
  return list.flatMap((fields: unknown) => {
    const flat = Array.isArray(fields) ? fields.map(String) : [];
    const at = flat.indexOf('library_name');
    return at < 0 ? [] : [flat[at + 1] ?? ''];
  });
}
