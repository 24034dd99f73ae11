import { Command } from 'commander';
import { columns, entriesOf, field, json, type Output, plainJson, table } from '../print.js';
import { type OpenSession, secretOf } from '../session.js';
import { limitWords } from './limit-command.js';

const HEADINGS = ['TOKEN', 'VERBS', 'QUEUES', 'EXPIRES', 'LAST USED', 'DESCRIPTION'];

/** `pumphouse token …` */
export function tokenCommand(open: OpenSession): Command {
  return new Command('token')
    .description('create, list, show, rotate and delete the tokens of a namespace')
    .addCommand(createCommand(open))
    .addCommand(listCommand(open))
    .addCommand(showCommand(open))
    .addCommand(rotateCommand(open))
    .addCommand(removeCommand(open))
    .addHelpText(
      'after',
      `
Examples:
  pumphouse token create mail -d "the mailer"
  pumphouse token create mail -d "the mailer" --token my-own-token-of-20-characters
  pumphouse token create mail -d "a worker" --verbs consume --queues 'mail-*,news' --expires 90d
  pumphouse token ls mail --json
  pumphouse token rotate mail 01K2Z8M5Q0X3… --grace 1h
  pumphouse token rm mail 01K2Z8M5Q0X3…`,
    );
}

interface CreateOptions {
  readonly description: string;
  readonly token?: string;
  readonly pool?: string;
  readonly verbs?: string;
  readonly queues?: string;
  readonly expires?: string;
}

function createCommand(open: OpenSession): Command {
  return new Command('create')
    .description('create a token and print it')
    .argument('<namespace>')
    .requiredOption('-d, --description <text>', 'the purpose of the token')
    .option(
      '--token <text>',
      'this token, of at least 20 characters, instead of a generated one; @FILE reads it',
    )
    .option('--pool <name>', 'the pool of the token (default: the default pool)')
    .option('--verbs <list>', 'its permissions: publish, consume, admin, push (default: all)')
    .option('--queues <list>', 'queue patterns: only these queues; * matches any characters (default: all)')
    .option('--expires <when>', 'after a time (90s, 12h, 30d), or at a date (2030-01-31T12:00:00Z)')
    .action(async (namespace: string, options: CreateOptions, command: Command) => {
      const { admin, isJson, out } = open(command);
      const { description, pool, verbs, queues, expires } = options;
      const query = { description, token: chosenToken(options), pool, verbs, queues, expires };
      const made = await admin.call({ method: 'POST', path: ['token', namespace], query });
      out(isJson ? plainJson(made) : `${String(field(made, 'token'))}\n`);
    });
}

function listCommand(open: OpenSession): Command {
  return new Command('ls')
    .description('list the tokens of a namespace; each token is shown whole')
    .argument('<namespace>')
    .option('--pool <name>', 'the pool of the tokens (default: the default pool)')
    .action(async (namespace: string, { pool }: { pool?: string }, command: Command) => {
      const session = open(command);
      const { admin, isJson, out, err } = session;
      const query = { pool, details: 'true' };
      const answer = await admin.call({ method: 'GET', path: ['token', namespace], query });
      const listed = mapped(answer, 'details', (all) => mapped(all, undefined, withLimitWords));
      out(isJson ? plainJson(listed) : tokenTable(session, listed));
      if (entriesOf(field(listed, 'tokens')).length > 0) return;
      err(`There is no token. To make one: pumphouse token create ${namespace} -d "what it is for"\n`);
    });
}

/** The details of a token, with the counts of its limit in the words of the permissions. */
function withLimitWords(token: unknown): unknown {
  return mapped(token, 'limit', (limit) => (limit === null ? null : limitWords(limit)));
}

/** An object with one of its fields changed, or all of them. */
function mapped(
  object: unknown,
  name: string | undefined,
  change: (value: unknown) => unknown,
): Record<string, unknown> {
  const entries = entriesOf(object).map(([key, value]) => [
    key,
    name === undefined || key === name ? change(value) : value,
  ]);
  return Object.fromEntries(entries) as Record<string, unknown>;
}

/** Servers of older versions return only the descriptions. */
function tokenTable(output: Output, listed: unknown): string {
  const tokens = entriesOf(field(listed, 'tokens'));
  const details = field(listed, 'details');
  if (details === undefined)
    return columns(tokens.map(([token, description]) => [token, String(description)]));
  if (tokens.length === 0) return '';
  const rows = tokens.map(([token]) => {
    const of = (name: string): unknown => field(field(details, token), name);
    const ends = `${timeOr('never', of('expires_at'))}${of('replaced') === true ? ' (replaced)' : ''}`;
    const rights = [listOf(of('verbs')), listOf(of('queues'))];
    return [token, ...rights, ends, timeOr('never', of('last_used_at')), String(of('description'))];
  });
  return table(output, HEADINGS, rows);
}

function showCommand(open: OpenSession): Command {
  return new Command('show')
    .description('show the permissions of a token, its expiry, and when it was last used')
    .argument('<namespace>')
    .argument('<token>', 'with its prefix if it has one: pool:token')
    .action(async (namespace: string, token: string, _options: object, command: Command) => {
      const { admin, isJson, out } = open(command);
      const shown = withLimitWords(await admin.call({ method: 'GET', path: ['token', namespace, token] }));
      const rows = entriesOf(shown).map(([name, value]) => [name, textOf(value)]);
      out(isJson ? plainJson(shown) : columns(rows));
    });
}

/** @throws {Unreachable} its file cannot be read */
function chosenToken({ token }: { readonly token?: string }): string | undefined {
  return token === undefined ? undefined : /* guard: chosen-token-from-file */ secretOf(token, 'the token');
}

interface RotateOptions {
  readonly grace?: string;
  readonly expires?: string;
  readonly token?: string;
}

function rotateCommand(open: OpenSession): Command {
  return new Command('rotate')
    .description(
      'replace a token with a new one that has the same description, permissions and limit; prints the new one',
    )
    .argument('<namespace>')
    .argument('<token>', 'with its prefix if it has one: pool:token')
    .option('--grace <time>', 'how long the old token stays valid: 90s, 15m, 1h, 2d (default: not at all)')
    .option('--expires <when>', 'when the new token expires (default: as the old one)')
    .option('--token <text>', 'this new token, without a prefix, instead of a generated one; @FILE reads it')
    .action(async (namespace: string, old: string, options: RotateOptions, command: Command) => {
      const { admin, isJson, out } = open(command);
      const { grace, expires } = options;
      const token = chosenToken(options);
      const path = ['token', namespace, old, 'rotate'];
      const made = await admin.call({ method: 'POST', path, query: { grace, expires, token } });
      out(isJson ? plainJson(made) : `${String(field(made, 'token'))}\n`);
    });
}

function removeCommand(open: OpenSession): Command {
  return new Command('rm')
    .description('delete a token; every server refuses it within a second')
    .argument('<namespace>')
    .argument('<token>', 'with its prefix if it has one: pool:token')
    .action(async (namespace: string, token: string, _options: object, command: Command) => {
      const { admin, isJson, out } = open(command);
      // The server answers a deletion in the same way if there is no such token, as lmstfy does.
      await admin.call({ method: 'GET', path: ['token', namespace, token] });
      await admin.call({ method: 'DELETE', path: ['token', namespace, token] });
      out(isJson ? json({ deleted: true }) : 'deleted\n');
    });
}

function listOf(value: unknown): string {
  return Array.isArray(value) ? value.join(',') : '';
}

/** To the second: smaller units are noise. */
function timeOr(otherwise: string, value: unknown): string {
  return typeof value === 'string' ? value.replace(/\.\d+Z$/, 'Z') : otherwise;
}

function textOf(value: unknown): string {
  if (Array.isArray(value)) return value.join(',');
  if (value === null) return '-';
  return typeof value === 'string' ? value : JSON.stringify(value);
}
