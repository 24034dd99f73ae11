import { Argument, type Command as AnyCommand, Command, type Option } from 'commander';
import type { Output } from '../print.js';

/** The name of the command that the scripts call; it is not listed. */
export const COMPLETE = '__complete';

/**
 * What each shell sources. All of them call `pumphouse __complete -- WORDS`, which prints a candidate a line. zsh loads
 * the script from a folder of `fpath` as the body of `_pumphouse` at the first Tab: then the script calls the function
 * that it has defined.
 */
const SCRIPTS = {
  bash: `_pumphouse() {
  local IFS=$'\\n'
  COMPREPLY=($(pumphouse ${COMPLETE} -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null))
  [ \${#COMPREPLY[@]} -gt 0 ] || compopt -o default 2>/dev/null
}
complete -F _pumphouse pumphouse
`,
  zsh: `#compdef pumphouse
_pumphouse() {
  local -a candidates
  candidates=(\${(f)"$(pumphouse ${COMPLETE} -- "\${(@)words[2,CURRENT]}" 2>/dev/null)"})
  if (( \${#candidates} )); then compadd -a candidates; else _files; fi
}
if [ "$funcstack[1]" = _pumphouse ]; then _pumphouse "$@"; else compdef _pumphouse pumphouse; fi
`,
  fish: `complete -c pumphouse -f -a '(set -l words (commandline -opc)[2..-1] (commandline -ct); pumphouse ${COMPLETE} -- $words 2>/dev/null)'
`,
} as const;

const SHELLS = Object.keys(SCRIPTS) as (keyof typeof SCRIPTS)[];

/** `pumphouse completion` */
export function completionCommand(output: Output): Command {
  return new Command('completion')
    .description('print the completion script of a shell')
    .addArgument(new Argument('<shell>').choices(SHELLS))
    .addHelpText(
      'after',
      `
Examples:
  pumphouse completion bash > /etc/bash_completion.d/pumphouse
  pumphouse completion zsh > "\${fpath[1]}/_pumphouse"
  pumphouse completion fish > ~/.config/fish/completions/pumphouse.fish`,
    )
    .action((shell: keyof typeof SCRIPTS) => output.out(SCRIPTS[shell]));
}

/** The hidden command that the scripts call. */
export function completeCommand(output: Output): Command {
  return new Command(COMPLETE)
    .argument('[args...]')
    .action((args: string[], _options: object, command: Command) => {
      const root = command.parent ?? command;
      output.out(
        candidatesFor(root, args)
          .map((arg) => `${arg}\n`)
          .join(''),
      );
    });
}

/**
 * What may stand in the place of the last argument.
 *
 * @param args all behind the program's name; the last one is typed at the moment, perhaps empty
 */
export function candidatesFor(root: AnyCommand, args: readonly string[]): string[] {
  const typed = args.at(-1) ?? '';
  let command = root;
  let places = 0;
  let open: Option | undefined;
  for (const arg of args.slice(0, -1)) {
    if (open) {
      open = undefined;
      continue;
    }
    const option = optionsOf(command, root).find(({ long, short }) => arg === long || arg === short);
    const next = command.commands.find((one) => one.name() === arg || one.aliases().includes(arg));
    if (option && (option.required || option.optional)) open = option;
    else if (next) [command, places] = [next, 0];
    else if (!arg.startsWith('-')) places++;
  }
  return candidatesAt(command, root, { typed, places, open }).filter((arg) => arg.startsWith(typed));
}

function candidatesAt(
  command: AnyCommand,
  root: AnyCommand,
  {
    typed,
    places,
    open,
  }: { readonly typed: string; readonly places: number; readonly open: Option | undefined },
): string[] {
  if (open) return [...(open.argChoices ?? [])];
  if (typed.startsWith('-')) {
    return [...optionsOf(command, root).flatMap(({ long }) => long ?? []), '--help'];
  }
  const names = shownCommands(command).map((one) => one.name());
  return names.length > 0 ? names : [...(command.registeredArguments[places]?.argChoices ?? [])];
}

/** The commands of a group that help texts show. */
export function shownCommands(command: AnyCommand): AnyCommand[] {
  return command
    .createHelp()
    .visibleCommands(command)
    .filter((one) => command.commands.includes(one));
}

function optionsOf(command: AnyCommand, root: AnyCommand): Option[] {
  const all = command === root ? root.options : [...command.options];
  return all.filter(({ hidden }) => !hidden);
}
