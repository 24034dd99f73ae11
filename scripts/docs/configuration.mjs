import { heading, NOTE, table } from './page.mjs';

/** A key line of default.toml, with or without a default. */
const KEY = /^(?:# )?(\w+) = (.*)$/;

/**
 * The keys of default.toml with their comments, by path. Keys without a comment of their own share the one before.
 *
 * @param {string} toml
 * @returns {{ sections: Map<string, string>, keys: Map<string, { about: string, shown: string | null }> }}
 */
function documented(toml) {
  const [sections, keys] = [new Map(), new Map()];
  let [section, comment, about] = ['', [], ''];
  for (const line of toml.split('\n')) {
    const [, name] = /^\[(.+)\]$/.exec(line) ?? [];
    const [, key, value] = KEY.exec(line) ?? [];
    if (name !== undefined) {
      sections.set((section = name), comment.join(' '));
      comment = [];
    } else if (key !== undefined) {
      if (comment.length > 0) about = comment.join(' ');
      keys.set(`${section}.${key}`, { about, shown: line.startsWith('#') ? null : value });
      comment = [];
    } else if (line.startsWith('# ')) comment.push(line.slice(2));
    // The comment of the file itself stands before an empty line, as a section's comment stands before its header.
    else if (section === '') comment = [];
  }
  return { sections, keys };
}

/** Links to pages of docs/ that a comment names; values that it quotes as code. */
const linked = (text) =>
  text
    .replaceAll(/docs\/([-\w/]+\.md)(#[-\w]+)?/g, '[$1](../$1$2)')
    .replaceAll(/\["[^\]]*"\]/g, (list) => `\`${list}\``);

/**
 * @typedef {{ type: string, rule?: string, of?: unknown, orText?: boolean }} Kind
 * @param {{ toml: string, config: unknown, keysOf: (type: unknown) => ReadonlyMap<string, Kind> }} sources
 */
export function configurationPage({ toml, config, keysOf }) {
  const { sections, keys } = documented(toml);
  const parts = [...keysOf(config)].map(([name, kind]) => section(name, kind));

  /** @param {string} name @param {Kind} kind */
  function section(name, kind) {
    // Sections with names of the operator's choice: default.toml shows the pool `default`.
    const path = kind.type === 'named' ? `${name}.default` : name;
    const title = kind.type === 'named' ? `[${name}.NAME]` : `[${name}]`;
    const about = sections.get(path) ?? '';
    const found = [...keysOf(kind.of)].map(([key, one]) => {
      if (one.type === 'section') return section(`${name}.${key}`, one);
      return one.type === 'named' ? named(`${name}.${key}`, one) : entry(path, key, one);
    });
    return [heading(2, `\`${title}\``), linked(about), ...found].filter((text) => text !== '').join('\n\n');
  }

  function entry(path, key, { type, rule }) {
    const { about, shown } = keys.get(`${path}.${key}`) ?? {};
    if (about === undefined) throw new Error(`default.toml does not explain ${path}.${key}`);
    const name = path.replace(/\.default$/, '.NAME');
    return described(`${name}.${key}`, type, shown === null ? 'none' : `\`${shown}\``, rule, about);
  }

  function named(path, { rule }) {
    return described(`${path}.NAME`, 'text or section', 'none', rule, sections.get(path) ?? '');
  }

  function described(path, type, value, rule, about) {
    const variable = `PUMPHOUSE_${path.replaceAll('.', '__').toUpperCase()}`;
    const rows = [
      ['type', type],
      ['default', value],
      ['environment', `\`${variable}\``],
    ];
    if (rule !== undefined) rows.push(['value', rule.replaceAll(/"[^"]*"/g, (text) => `\`${text}\``)]);
    return [heading(3, `\`${path}\``), table(['', ''], rows), linked(about)].join('\n\n');
  }

  return `# Configuration reference\n\n${NOTE('config/default.toml and src/config/config.ts')}

How the values come together: [configuration](../configuration.md). NAME stands for a name that you choose.

${parts.join('\n\n')}
`;
}
