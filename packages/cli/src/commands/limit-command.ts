import { Command, Option } from 'commander';
import { Refused } from '../admin-client.js';
import { showAll } from '../list.js';
import { wholeNumber } from '../parse.js';
import { cell, columns, entriesOf, field, json } from '../print.js';
import type { OpenSession } from '../session.js';

const HEADINGS = ['NAMESPACE', 'TOKEN', 'CONSUME', 'PUBLISH', 'INTERVAL'];

interface Listed {
  readonly namespace: string;
  readonly token: string;
  readonly limit: Readonly<Record<string, unknown>>;
}

/** `pumphouse limit …` */
export function limitCommand(open: OpenSession): Command {
  return new Command('limit')
    .description('list, show, set and delete the limits of tokens')
    .addCommand(listCommand(open))
    .addCommand(showCommand(open))
    .addCommand(setCommand(open))
    .addCommand(removeCommand(open))
    .addHelpText(
      'after',
      `
Examples:
  pumphouse limit show mail 01K2Z8M5Q0X3…
  pumphouse limit set mail 01K2Z8M5Q0X3… --consume 100 --publish 50 --interval 1
  pumphouse limit rm mail 01K2Z8M5Q0X3…`,
    );
}

function listCommand(open: OpenSession): Command {
  return new Command('ls')
    .description('list the limits of all tokens')
    .action(async (_options: object, command: Command) => {
      const session = open(command);
      const answer = await session.admin.call({ method: 'GET', path: ['limits'] });
      const limits = (Array.isArray(answer) ? answer : []).map((one) => ({
        ...{ namespace: String(field(one, 'namespace')), token: String(field(one, 'token')) },
        limit: limitWords(field(one, 'limiter')),
      }));
      showAll(session, limits, { headings: HEADINGS, rowOf: limitRow });
    });
}

function limitRow({ namespace, token, limit }: Listed): string[] {
  return [namespace, token, ...[limit['consume'], limit['publish'], limit['interval']].map(cell)];
}

function showCommand(open: OpenSession): Command {
  return tokenCommand('show', 'show how many requests a token may make in one window').action(
    async (namespace: string, token: string, _options: object, command: Command) => {
      const { admin, isJson, out } = open(command);
      const limit = await admin.call({ method: 'GET', path: limitPath(namespace, token) }).catch(noLimit);
      out(isJson ? json(limitWords(limit)) : table(limit));
    },
  );
}

interface SetOptions {
  readonly consume?: number;
  readonly publish?: number;
  /** lmstfy's names of the two. */
  readonly read?: number;
  readonly write?: number;
  readonly interval: number;
}

function setCommand(open: OpenSession): Command {
  return tokenCommand('set', 'set how many requests a token may make in one window; 0 = no limit')
    .option('--consume <requests>', 'calls that consume: leases', wholeNumber)
    .option('--publish <requests>', 'calls that publish; a bulk counts as one', wholeNumber)
    .addOption(oldName('--read <requests>', 'consume'))
    .addOption(oldName('--write <requests>', 'publish'))
    .requiredOption('--interval <seconds>', 'length of the window', wholeNumber)
    .action(async (namespace: string, token: string, options: SetOptions, command: Command) => {
      const { admin, isJson, out } = open(command);
      const { consume, publish, interval } = options;
      const limit = { read: consume ?? options.read ?? 0, write: publish ?? options.write ?? 0, interval };
      if (limit.read === 0 && limit.write === 0)
        command.error('error: --consume or --publish must be above 0');
      const set = await admin.call({ method: 'PUT', path: limitPath(namespace, token), json: limit });
      const stored = field(set, 'limiter');
      out(isJson ? json(limitWords(stored)) : table(stored));
    });
}

function removeCommand(open: OpenSession): Command {
  return tokenCommand('rm', 'delete the limit of a token').action(
    async (namespace: string, token: string, _options: object, command: Command) => {
      const { admin, isJson, out } = open(command);
      // The server answers a deletion in the same way if there is no limit, as lmstfy does.
      await admin.call({ method: 'GET', path: limitPath(namespace, token) });
      const answer = await admin.call({ method: 'DELETE', path: limitPath(namespace, token) });
      out(isJson ? json(answer) : 'deleted\n');
    },
  );
}

function tokenCommand(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .argument('<namespace>')
    .argument('<token>', 'with its prefix if it has one: pool:token');
}

function limitPath(namespace: string, token: string): string[] {
  return ['token', namespace, token, 'limit'];
}

/** lmstfy's answer for a token without a limit is not helpful. */
function noLimit(error: unknown): never {
  if (error instanceof Refused && error.status === 404) throw new Refused('the token has no limit', 404);
  throw error;
}

function table(limit: unknown): string {
  return columns(Object.entries(limitWords(limit)).map(([name, value]) => [name, String(value)]));
}

/** A limit in the words of the permissions. */
export function limitWords(limit: unknown): Record<string, unknown> {
  return Object.fromEntries(entriesOf(limit).map(([name, value]) => [WORDS.get(name) ?? name, value]));
}

/** lmstfy's names of the counts, in the words of the permissions. */
const WORDS = new Map([
  ['read', 'consume'],
  ['write', 'publish'],
]);

function oldName(flags: string, name: string): Option {
  return new Option(flags, `the same as --${name}`).argParser(wholeNumber).hideHelp();
}
