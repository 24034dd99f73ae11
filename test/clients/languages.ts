import { join } from 'node:path';
import { GO_ENV, hasProgram, ROOT, run } from '../support/packed.js';
import type { Language } from './scenario.js';

export const GO = join(ROOT, 'packages', 'go');
export const PYTHON = join(ROOT, 'packages', 'python');
export const [hasGo, hasPython] = ['go', 'python3'].map(hasProgram) as [boolean, boolean];
/** Python takes the client from its sources, and leaves no files there. */
export const PYTHON_ENV = { PYTHONPATH: join(PYTHON, 'src'), PYTHONDONTWRITEBYTECODE: '1' };

const TYPESCRIPT = [
  ...[process.execPath, '--import', join(ROOT, 'test', 'support', 'typescript-loader.mjs')],
  join(ROOT, 'packages', 'client', 'test', 'player.ts'),
];

/** How the player of each language is started. @param folder that of Go's program, see `languagesIn` */
export function languagesOf(folder: string): (Language & { readonly isInstalled: boolean })[] {
  return [
    { name: 'javascript', argv: TYPESCRIPT, isInstalled: true },
    {
      name: 'python',
      argv: ['python3', join(PYTHON, 'test', 'player.py')],
      env: PYTHON_ENV,
      isInstalled: hasPython,
    },
    {
      ...{ name: 'asyncio', argv: ['python3', join(PYTHON, 'test', 'aio_player.py')], env: PYTHON_ENV },
      ...{ session: 'python', isInstalled: hasPython },
    },
    { name: 'go', argv: [join(folder, 'player')], isInstalled: hasGo },
  ];
}

/** The players of the languages that are installed; makes Go's in the folder. */
export async function languagesIn(folder: string): Promise<Language[]> {
  if (hasGo) await run('go', ['build', '-o', join(folder, 'player'), './internal/player'], GO, GO_ENV);
  return languagesOf(folder).filter(({ isInstalled }) => isInstalled);
}
