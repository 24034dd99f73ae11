import type { Command } from 'commander';
import { shownCommands } from './commands/completion-command.js';
import { program } from './program.js';

const WIDTH = 100;
/** The options that all commands have are shown once, at the top. */
const CONNECTION = /\nConnection:\n(?: .*\n)*/;

/** The reference of all commands as Markdown: their help texts. `scripts/docs/cli-reference.mjs` writes it to docs/. */
export function reference(): string {
  const root = program({ out: () => undefined, err: () => undefined });
  const commands = everyShown(root);
  for (const command of commands) command.configureOutput({ getOutHelpWidth: () => WIDTH });
  const [first, ...others] = commands.map((command) => [pathOf(command), helpOf(command)] as const);
  return [
    '# Command reference',
    'Written by `npm run docs:reference` from the program: do not edit. [How to use it](../cli.md).',
    ...(first ? section(first[0], first[1]) : []),
    ...others.flatMap(([path, help]) => section(path, help.replace(CONNECTION, ''))),
  ]
    .join('\n\n')
    .concat('\n');
}

function section(path: string, help: string): string[] {
  return [`## ${path}`, `\`\`\`text\n${help.trim()}\n\`\`\``];
}

/** With the texts behind the help: examples and rules. */
function helpOf(command: Command): string {
  let help = '';
  command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
  return help;
}

function pathOf(command: Command): string {
  return command.parent ? `${pathOf(command.parent)} ${command.name()}` : command.name();
}

function everyShown(command: Command): Command[] {
  return [command, ...shownCommands(command).flatMap(everyShown)];
}
