import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'smol-toml';
import { Config } from './config.js';
import { keysOf, type KeyClass } from './keys.js';
import { DEFAULT_FILE, loadConfig, printDefaultConfig } from './load.js';
import { admit, build } from './tree.js';

/** The name that default.toml uses in sections with names chosen by the operator. */
const EXAMPLE = 'default';

/** Every key with a value: its section and its name. */
function documentable(type: KeyClass, section = ''): [section: string, key: string][] {
  return [...keysOf(type)].flatMap(([key, kind]) => {
    const at = section === '' ? key : `${section}.${key}`;
    if (kind.type === 'section') return documentable(kind.of, at);
    if (kind.type !== 'named') return [[section, key] satisfies [string, string]];
    // An example of an account is a line of its section.
    return kind.orText ? [] : documentable(kind.of, `${at}.${EXAMPLE}`);
  });
}

/** The lines of each section. */
function sections(text: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  let lines: string[] = [];
  for (const line of text.split('\n')) {
    const [, name] = /^\[(.*)\]$/.exec(line) ?? [];
    if (name !== undefined) found.set(name, (lines = []));
    else lines.push(line);
  }
  return found;
}

describe('config/default.toml', () => {
  const text = printDefaultConfig();

  it('has the defaults of the class Config', () => {
    const problems: string[] = [];
    const layer = { tree: parse(text), origin: () => '' };

    expect(JSON.stringify(build(Config, admit(layer, Config, problems)))).toBe(JSON.stringify(new Config()));
    expect(problems).toEqual([]);
    expect(loadConfig({ env: {} })).toEqual(new Config());
  });

  it.each(documentable(Config))('has a comment for the key %s.%s', (section, key) => {
    const lines = sections(text).get(section) ?? [];
    const at = lines.findIndex((line) => new RegExp(`^(# )?${key} = `).test(line));

    expect(at).toBeGreaterThan(-1);
    // Keys of one kind may share an explanation.
    const before = lines
      .slice(0, at)
      .reverse()
      .find((line) => !/^(# )?\w+ = /.test(line));
    expect(before).toMatch(/^# \S/);
  });

  it('has a comment above every key with a default', () => {
    for (const lines of sections(text).values()) {
      lines.forEach((line, at) => {
        if (/^\w+ = /.test(line)) expect([line, lines[at - 1]]).toEqual([line, expect.stringMatching(/^# /)]);
      });
    }
  });

  it('has no unknown key, also in lines that are commented out', () => {
    const problems: string[] = [];
    const tree = parse(text.replace(/^# (\w+ = ["[\d].*)$/gm, '$1'));
    admit({ tree, origin: () => '' }, Config, problems);

    expect(problems).toEqual([]);
  });

  it('is found from the folder src/config', () => {
    expect(DEFAULT_FILE).toBe(join(import.meta.dirname, '..', '..', 'config', 'default.toml'));
  });
});

describe('the example configurations', () => {
  const example = (name: string): string => join(DEFAULT_FILE, '..', name);

  it('include one for production that needs four secrets from the environment, and no other settings', () => {
    const file = example('production-example.toml');
    const env = Object.fromEntries(
      [...readFileSync(file, 'utf8').matchAll(/PUMPHOUSE_\w+/g)].map(([name]) => [name, 'secret']),
    );
    const config = loadConfig({ file, env });

    expect(Object.keys(env)).toHaveLength(4);
    expect(config.admin).toEqual({
      host: '0.0.0.0',
      port: 7778,
      hosts: [],
      audit_days: 90,
      audit_max: 10_000,
      accounts: { ops: 'secret' },
      oidc: new Config().admin.oidc,
    });
    expect(config.pools['default']).toMatchObject({ master_name: 'pumphouse', password: 'secret' });
    expect(() => loadConfig({ file, env: {} })).toThrow('unless admin.accounts or admin.oidc is set');
  });

  it('include a file of lmstfy, with a warning for settings that have no effect', () => {
    const config = loadConfig({ file: example('lmstfy-example.toml'), env: {} });

    expect(config.lmstfy).toMatchObject({ public_sizes: true, default_tries: 3, default_ttr_s: 60 });
    expect(config.tokens).toMatchObject({ url: 'redis://localhost:6379', db: 1 });
    expect(config.warnings).toEqual([
      expect.stringMatching(/LogDir, Pool\.default\.PoolSize has no effect here$/),
    ]);
  });
});
