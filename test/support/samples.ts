import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './packed.js';

/** What a Go program of the documents needs beside itself. */
const GO_MOD =
  'module example.com/samples\n\ngo 1.19\n\nrequire github.com/pumphouse/pumphouse/packages/go v0.0.0\n\n' +
  'replace github.com/pumphouse/pumphouse/packages/go => ./packages/go\n';
const GO_PACKAGES = ['context', 'errors', 'fmt', 'log', 'os/exec', 'strings', 'time'];

/** Writes Go files, and the client beside them, into a folder, which is a module then. */
export function writeGoModule(dir: string, files: Readonly<Record<string, string>>): void {
  mkdirSync(join(dir, 'packages'), { recursive: true });
  cpSync(join(ROOT, 'packages', 'go'), join(dir, 'packages', 'go'), { recursive: true });
  writeFileSync(join(dir, 'go.mod'), GO_MOD);
  for (const [name, text] of Object.entries(files)) writeFileSync(join(dir, name), text);
}

/** The import lines of what a piece of Go uses. An editor adds those of the standard library. */
export function goImportsOf(code: string): string {
  const used = GO_PACKAGES.filter((name) => new RegExp(`\\b${name.split('/').at(-1) ?? ''}\\.`).test(code));
  const own = code.includes('pumphouse.') ? ['pumphouse "github.com/pumphouse/pumphouse/packages/go"'] : [];
  return `import (\n${[...used.map((name) => `"${name}"`), ...own].map((line) => `\t${line}\n`).join('')})\n`;
}

/** The blocks of code of a page in one language, without the indent of a list. */
export function blocksOf(text: string, language: string): string[] {
  const fence = new RegExp(`^( *)\`\`\`${language}\\n(.*?)^ *\`\`\`$`, 'gms');
  return [...text.matchAll(fence)].map(([, indent = '', block = '']) =>
    block.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
  );
}

const PRINTS = /^.*\b(?:console\.log|print|fmt\.Println)\(.*\);?\s+(?:\/\/|#) (.*)$/;
const COMMENT = /^(?:\/\/|#) (.*)$/;

/** What a sample prints, line by line: the comments behind its lines that print, and those at its end. `…` is any text. */
export function printsOf(code: string): string[] {
  const lines = code.trimEnd().split('\n');
  const shown = lines.flatMap((line) => PRINTS.exec(line)?.[1] ?? []);
  const end = lines.findLastIndex((line) => !COMMENT.test(line)) + 1;
  return [...shown, ...lines.slice(end).map((line) => COMMENT.exec(line)?.[1] ?? '')];
}

/** What the commands of a block of the shell print: its comments that are JSON. */
export function answersOf(code: string): string[] {
  return code.split('\n').flatMap((line) => /^# (\{.*)$/.exec(line)?.[1] ?? []);
}

/** @returns the lines that are not as they are shown, and what is missing */
export function differences(shown: readonly string[], printed: string): string[] {
  const lines = printed === '' ? [] : printed.trimEnd().split('\n');
  return Array.from({ length: Math.max(shown.length, lines.length) }, (_, i) => i).flatMap((i) => {
    const [wanted, real] = [shown[i], lines[i]];
    const isRight = wanted !== undefined && real !== undefined && patternOf(wanted).test(real);
    return isRight ? [] : [`${real ?? 'nothing'} is not ${wanted ?? 'shown'}`];
  });
}

function patternOf(shown: string): RegExp {
  const literal = shown.split('…').map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${literal.join('.*')}$`);
}
