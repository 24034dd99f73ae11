import type { Variable } from '@pumphouse/client';
import { Command } from 'commander';
import { exactJson } from '../parse.js';
import { plainJson, printable, table } from '../print.js';
import type { OpenSession } from '../session.js';

const HEADINGS = ['NAME', 'VALUE'];

/** `pumphouse variable …`. Values are JSON in all that it prints: their names are not those of the API. */
export function variableCommand(open: OpenSession): Command {
  return new Command('variable')
    .description('variables of the namespace: free names with JSON values, for producers and workers')
    .addCommand(listCommand(open))
    .addCommand(showCommand(open))
    .addCommand(setCommand(open))
    .addCommand(removeCommand(open))
    .addHelpText(
      'after',
      `
Examples:
  pumphouse variable set mail.sender '"shop@example.com"'
  pumphouse variable set sandbox true
  pumphouse variable show sandbox`,
    );
}

function listCommand(open: OpenSession): Command {
  return new Command('ls')
    .description('list the variables by name')
    .action(async (_options: object, command: Command) => {
      const session = open(command);
      const found = await session.client.variables.list();
      session.out(session.isJson ? plainJson(found) : table(session, HEADINGS, found.map(rowOf)));
    });
}

function rowOf({ name, value }: Variable): string[] {
  return [name, plainJson(value).trimEnd()];
}

function showCommand(open: OpenSession): Command {
  return new Command('show')
    .description('print the value of a variable, as JSON')
    .argument('<name>')
    .action(async (name: string, _options: object, command: Command) => {
      const { client, out } = open(command);
      out(plainJson(await client.variables.get(name)));
    });
}

function setCommand(open: OpenSession): Command {
  return new Command('set')
    .description('create or replace a variable')
    .argument('<name>')
    .argument('<value>', `JSON: text in double quotes, as '"a text"'`, exactJson)
    .action(async (name: string, value: unknown, _options: object, command: Command) => {
      const { client, isJson, out } = open(command);
      await client.variables.set(name, value);
      out(isJson ? plainJson({ name, value }) : `set ${printable(name)}\n`);
    });
}

function removeCommand(open: OpenSession): Command {
  return new Command('rm')
    .description('delete a variable')
    .argument('<name>')
    .action(async (name: string, _options: object, command: Command) => {
      const { client, isJson, out } = open(command);
      await client.variables.delete(name);
      out(isJson ? plainJson({ deleted: name }) : `deleted ${printable(name)}\n`);
    });
}
