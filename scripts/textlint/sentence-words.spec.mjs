import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT } from '../setup/run.mjs';

const words = (count) => Array.from({ length: count }, (_, i) => `w${i}`).join(' ');

/** The messages of `textlint` for a page. */
function messagesFor(text) {
  const dir = mkdtempSync(join(tmpdir(), 'pumphouse-prose-'));
  try {
    const page = join(dir, 'page.md');
    writeFileSync(page, text);
    const args = ['--rulesdir', join(ROOT, 'scripts', 'textlint'), '-f', 'unix', page];
    execFileSync(join(ROOT, 'node_modules', '.bin', 'textlint'), args, { cwd: ROOT });
    return '';
  } catch (error) {
    return String(error.stdout);
  } finally {
    rmSync(dir, { recursive: true, force: true });
  }
}

describe('the check of sentences', () => {
  it('allows 30 words in a sentence, and counts code as one word', () => {
    expect(messagesFor(`# Title\n\n${words(29)} \`a b c d\`.\n`)).toBe('');
    expect(messagesFor(`# Title\n\n${words(31)}.\n`)).toContain('a sentence of 31 words, at most 30');
  });

  it('ends a sentence at the full stop after a number, and ignores tables', () => {
    expect(messagesFor(`# Title\n\n${words(25)} 404. ${words(25).replace('w', 'W')}.\n`)).toBe('');
    expect(messagesFor(`# Title\n\n| a |\n| --- |\n| ${words(50)} |\n`)).toBe('');
  });
});
