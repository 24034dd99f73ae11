/**
 * Tabs of the documents: one step in several languages. In Markdown they are `<details>` with a block of code each, one
 * directly behind the other; the README has a table with two blocks. VitePress shows both as a `code-group`.
 */

const TAB = /^<details(?: open)?><summary>([^<]+)<\/summary>\n\n```(\w+)\n(.*?)^```\n\n<\/details>\n/gms;
const TABLE =
  /^<table>.*?<th>([^<]+)<\/th><th>([^<]+)<\/th>.*?\n\n```(\w+)\n(.*?)^```\n\n<\/td><td>\n\n```(\w+)\n(.*?)^```\n\n<\/td>.*?<\/table>\n/gms;

/** The groups of tabs of a page, each with where it is in the text. */
export function tabGroupsOf(text) {
  const groups = [];
  for (const match of text.matchAll(TAB)) {
    const [all, label, language, code] = match;
    const last = groups.at(-1);
    const tab = { label, language, code };
    const end = match.index + all.length;
    if (last?.end === match.index) Object.assign(last, { end, tabs: [...last.tabs, tab] });
    else groups.push({ start: match.index, end, tabs: [tab] });
  }
  for (const match of text.matchAll(TABLE)) {
    const [all, left, right, language, code, otherLanguage, otherCode] = match;
    const tabs = [
      { label: left, language, code },
      { label: right, language: otherLanguage, code: otherCode },
    ];
    groups.push({ start: match.index, end: match.index + all.length, tabs });
  }
  return groups.sort((one, other) => one.start - other.start);
}

/** The groups of tabs of a page as VitePress shows them. */
export function codeGroupsOf(text) {
  return tabGroupsOf(text).map(({ tabs }) => groupOf(tabs));
}

/** The page with its groups of tabs as VitePress shows them. */
export function withCodeGroups(text) {
  let page = '';
  let at = 0;
  for (const { start, end, tabs } of tabGroupsOf(text)) {
    page += text.slice(at, start) + groupOf(tabs);
    at = end;
  }
  return page + text.slice(at);
}

function groupOf(tabs) {
  const blocks = tabs.map(({ label, language, code }) => `\`\`\`${language} [${label}]\n${code}\`\`\`\n`);
  return `::: code-group\n\n${blocks.join('\n')}\n:::\n`;
}
