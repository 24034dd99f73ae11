import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { transform } from '@swc/core';

const ROOT = new URL('../../', import.meta.url);
const options = JSON.parse(readFileSync(new URL('.swcrc', ROOT), 'utf8'));
delete options.exclude;

const OWN = {
  '@jest/globals': new URL('./jest/globals.mjs', import.meta.url).href,
  '@pumphouse/client': new URL('packages/client/src/node.ts', ROOT).href,
};

/** `./x.js` in our sources means `./x.ts`, and `#src/x` means `src/x.ts`. The build of another commit has files of its own. */
export function resolve(specifier, context, next) {
  if (context.parentURL !== undefined && !context.parentURL.startsWith(ROOT.href))
    return next(specifier, context);
  if (Object.hasOwn(OWN, specifier)) return { url: OWN[specifier], shortCircuit: true };
  if (specifier.startsWith('#src/'))
    return { url: new URL(`src/${specifier.slice('#src/'.length)}.ts`, ROOT).href, shortCircuit: true };
  if (/^\.{1,2}\/.*\.js$/.test(specifier) && !context.parentURL?.includes('/node_modules/')) {
    const url = new URL(specifier.replace(/\.js$/, '.ts'), context.parentURL);
    if (existsSync(url)) return { url: url.href, shortCircuit: true };
  }
  return next(specifier, context);
}

export async function load(url, context, next) {
  const { pathname } = new URL(url);
  if (!pathname.endsWith('.ts')) return next(url, context);
  const filename = fileURLToPath(url);
  const { code } = await transform(readFileSync(filename, 'utf8'), {
    ...options,
    swcrc: false,
    filename,
    sourceMaps: 'inline',
  });
  return { format: 'module', source: code, shortCircuit: true };
}
