import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { PROGRAM } from './support/cli.js';
import { hasProgram, run } from './support/packed.js';

/**
 * zsh completes in a line editor only: a shell at a pseudo-terminal gets the key. Ctrl-T prints the line as it is then.
 *
 * @param install makes the completion known to the shell
 */
function zsh(install: string): string[] {
  const setUp = `PS1=; show() { print -r -- "@$BUFFER@" }; zle -N show; bindkey '^T' show; ${install}; echo rea""dy`;
  return [
    ...['zsh', '-f', '-c'],
    String.raw`zmodload zsh/zpty
    zpty -b shell zsh -f -i
    zpty -w shell ${quoted(setUp)}
    zpty -r shell out $'*ready\r\n*'
    zpty -w -n shell $'pumphouse queue pu\t\x14'
    zpty -r shell out '*@pumphouse*@*'
    zpty -w -n shell $'\x15exit\n'
    out=${'$'}{out##*@pumphouse queue }
    print -r -- ${'$'}{out%%@*}`,
  ];
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** What each shell is told to print for `pumphouse queue pu` and Tab, one candidate a line. */
const SHELLS = {
  bash: [
    ...['bash', '--norc', '-c'],
    `source <(pumphouse completion bash)
    COMP_WORDS=(pumphouse queue pu) COMP_CWORD=2
    _pumphouse
    printf '%s\\n' "\${COMPREPLY[@]}"`,
  ],
  zsh: zsh('autoload -Uz compinit; compinit -u -D; source <(pumphouse completion zsh)'),
  fish: [
    ...['fish', '--no-config', '-c'],
    `pumphouse completion fish | source
    complete -C "pumphouse queue pu"`,
  ],
};

/** As docs/cli.md and the help install it: the shell loads the file at the first Tab. */
const ZSH_FROM_FPATH = zsh(
  `mkdir -p $HOME/functions; fpath=($HOME/functions $fpath); pumphouse completion zsh > "\${fpath[1]}/_pumphouse"
  autoload -Uz compinit; compinit -u -D`.replace(/\n */, '; '),
);

describe('pumphouse completion', () => {
  const folder = mkdtempSync(join(tmpdir(), 'pumphouse-completion-'));
  const env = {
    ...{ PATH: [folder, process.env['PATH']].join(delimiter), HOME: join(folder, 'home') },
    TERM: 'dumb',
  };

  beforeAll(() => {
    mkdirSync(env.HOME);
    const program = join(folder, 'pumphouse');
    writeFileSync(program, `#!/bin/sh\nexec '${process.execPath}' '${PROGRAM}' "$@"\n`, { mode: 0o755 });
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  for (const [shell, argv] of Object.entries(SHELLS)) {
    (hasProgram(shell) ? it : it.skip)(`completes a subcommand in ${shell}`, async () => {
      expect((await run(argv[0]!, argv.slice(1), folder, env)).trim()).toBe('purge');
    });
  }

  (hasProgram('zsh') ? it : it.skip)('completes at the first Tab in zsh from a folder of fpath', async () => {
    const [program, ...args] = ZSH_FROM_FPATH;
    expect((await run(program!, args, folder, env)).trim()).toBe('purge');
  });

  it('ends without an error when the reader of its output disconnects', async () => {
    const child = spawn(process.execPath, [PROGRAM, 'token', '--help'], { env });
    child.stdout.destroy();
    let printed = '';
    child.stderr.on('data', (data: Buffer) => (printed += data.toString()));
    const [code] = (await once(child, 'close')) as [number];
    expect({ code, printed }).toEqual({ code: 0, printed: '' });
  });
});
