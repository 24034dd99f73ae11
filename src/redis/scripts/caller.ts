import { type Arg, encodeCommand, functionsOf, scriptLibrary, scriptText, type WakeStyle } from './script.js';

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
  /** Scripts whose functions were loaded by this process: their other versions were removed then. */
  private readonly loaded = new Set<string>();

  /** @param send sends an encoded command; in a Cluster to the node of the key */
  constructor(
    private readonly send: (command: Buffer, key: string) => Promise<unknown>,
    private readonly style: () => WakeStyle,
  ) {}

  /** Sends a script, once. @param args keys first, behind their number */
  async call(name: string, args: readonly Arg[]): Promise<unknown> {
    const key = String(args[1]);
    if (this.hasFunctions) {
      const library = scriptLibrary(name, this.style());
      const command = encodeCommand(['FCALL', library.name, ...args]);
      try {
        return await this.send(command, key);
      } catch (error) {
        this.requireMissing(error);
      }
      try {
        if (await this.load(name, library.text, key)) return await this.send(command, key);
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
    else if (!NOT_LOADED.test(message)) throw error;
  }

  private async evaluate(name: string, args: readonly Arg[], key: string): Promise<unknown> {
    const { text, sha } = scriptText(name, this.style());
    try {
      return await this.send(encodeCommand(['EVALSHA', sha, ...args]), key);
    } catch (error) {
      if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
      return this.send(encodeCommand(['EVAL', text, ...args]), key);
    }
  }

  /** @returns false if Redis refuses it, as one that is full does; it runs scripts all the same */
  private async load(name: string, text: string, key: string): Promise<boolean> {
    if (!this.hasFunctions) return false;
    try {
      await this.send(encodeCommand(['FUNCTION', 'LOAD', text]), key);
    } catch (error) {
      if (!(error instanceof Error) || error.name !== 'ReplyError') throw error;
      if (NO_FUNCTIONS.test(error.message)) this.hasFunctions = false;
      if (!LOADED_BY_ANOTHER.test(error.message)) return false;
    }
    if (!this.loaded.has(name)) {
      this.loaded.add(name);
      await this.removeOthers(name, key).catch(() => undefined);
    }
    return true;
  }

  /**
   * Removes other versions of a function. Only once: a server of another version that is still there loads its own again, and they
   * would remove each other's for ever.
   */
  private async removeOthers(name: string, key: string): Promise<void> {
    const ours = scriptLibrary(name, this.style()).name;
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
