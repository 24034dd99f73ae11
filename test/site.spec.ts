import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PAGES } from '../scripts/checks/links.mjs';
import { type SidebarEntry, sidebar } from '../site/.vitepress/pages.mjs';
import { tabGroupsOf, withCodeGroups } from '../site/.vitepress/tabs.mjs';

const ROOT = join(import.meta.dirname, '..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const linksOf = ({ link, items = [] }: SidebarEntry): string[] => [
  ...(link === undefined ? [] : [link]),
  ...items.flatMap(linksOf),
];

describe('the side bar of the site', () => {
  it('has the groups in the order of a reader', () => {
    expect(sidebar().map(({ text }) => text)).toEqual([
      ...['Pumphouse', 'Tutorial', 'How-to guides', 'Reference', 'Explanation', 'Decisions'],
    ]);
  });

  it('has each page of docs/ once', () => {
    const links = sidebar().flatMap(linksOf);
    const pages = PAGES.filter((page) => page.startsWith('docs/') && page !== 'docs/README.md').map((page) =>
      page.replace('docs', '').replace(/\.md$/, ''),
    );
    expect(pages.filter((page) => links.filter((link) => link === page).length !== 1)).toEqual([]);
  });
});

describe('tabs of the site', () => {
  it.each(PAGES.filter((page) => tabGroupsOf(read(page)).length > 0))('are made of those in %s', (page) => {
    const text = withCodeGroups(read(page));
    expect(text).not.toMatch(/<details|<table/);
    expect(text.split('::: code-group\n').length - 1).toBe(tabGroupsOf(read(page)).length);
    expect(text.match(/^ *```\w+/gm)).toEqual(read(page).match(/^ *```\w+/gm));
  });

  it('are made of the two programs of the README', () => {
    const [group] = tabGroupsOf(read('README.md'));
    expect(group?.tabs.map(({ label }) => label)).toEqual(['TypeScript', 'Python']);
  });
});
