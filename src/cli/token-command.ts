import { Command } from 'commander';
import { columns, entriesOf, field, json } from './print.js';
import type { OpenSession } from './session.js';

/** `pumphouse token …` */
export function tokenCommand(open: OpenSession): Command {
  return new Command('token')
    .description('make, list and delete the tokens of a namespace')
    .addCommand(createCommand(open))
    .addCommand(listCommand(open))
    .addCommand(deleteCommand(open))
    .addHelpText(
      'after',
      `
Examples:
  pumphouse token create mail -d "the mailer"
  pumphouse token create mail -d "the mailer" --token my-own-token-of-20-characters
  pumphouse token list mail --json
  pumphouse token delete mail 01K2Z8M5Q0X3…`,
    );
}

interface CreateOptions {
  readonly description: string;
  readonly token?: string;
  readonly pool?: string;
}

function createCommand(open: OpenSession): Command {
  return new Command('create')
    .description('make a token and print it')
    .argument('<namespace>')
    .requiredOption('-d, --description <text>', 'what it is for')
    .option('--token <text>', 'this token, of at least 20 characters, instead of one that is made up')
    .option('--pool <name>', 'for another pool than the default one')
    .action(async (namespace: string, { description, token, pool }: CreateOptions, command: Command) => {
      const { admin, isJson, out } = open(command);
      const query = { description, token, pool };
      const made = await admin.call({ method: 'POST', path: ['token', namespace], query });
      out(isJson ? json(made) : `${String(field(made, 'token'))}\n`);
    });
}

function listCommand(open: OpenSession): Command {
  return new Command('list')
    .description("list a namespace's tokens, in clear")
    .argument('<namespace>')
    .option('--pool <name>', 'those of another pool than the default one')
    .action(async (namespace: string, { pool }: { pool?: string }, command: Command) => {
      const { admin, isJson, out } = open(command);
      const listed = await admin.call({ method: 'GET', path: ['token', namespace], query: { pool } });
      const rows = entriesOf(field(listed, 'tokens')).map(([token, description]) => [
        token,
        String(description),
      ]);
      out(isJson ? json(listed) : columns(rows));
    });
}

function deleteCommand(open: OpenSession): Command {
  return new Command('delete')
    .description('take a token away; every server refuses it within a second')
    .argument('<namespace>')
    .argument('<token>', 'with its prefix if it has one: pool:token')
    .action(async (namespace: string, token: string, _options: object, command: Command) => {
      const { admin, isJson, out } = open(command);
      await admin.call({ method: 'DELETE', path: ['token', namespace, token] });
      out(isJson ? json({ deleted: true }) : 'deleted\n');
    });
}
