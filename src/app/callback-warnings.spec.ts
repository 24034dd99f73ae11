import { loadConfig } from '../config/load.js';
import { callbackWarnings } from './callback-warnings.js';

const warnings = (allow: string[], ranges: string[] = []): string[] =>
  callbackWarnings(
    loadConfig({ env: {}, overrides: { later: { port: 0, allow }, push: { allow: ranges } } }),
  );

describe('warnings about origins of callbacks', () => {
  it.each([
    'http://127.0.0.1:8000',
    'http://10.2.0.7',
    'https://[::1]:8443',
    'https://[fd00::7]',
    'http://169.254.169.254',
  ])('name %s, whose address is not public', (origin) => {
    expect(warnings([origin, 'https://app.example.com'])).toEqual([
      expect.stringMatching(/^later\.allow has .*: its address is not public\. Set push\.allow/),
    ]);
    expect(warnings([origin])[0]).toContain(origin);
  });

  it('are absent for names, public addresses and what push.allow has', () => {
    expect(warnings(['https://app.example.com', 'http://localhost:8000', 'https://9.9.9.9'])).toEqual([]);
    expect(warnings(['http://10.2.0.7', 'https://[fd00::7]'], ['10.2.0.0/16', 'fd00::/8'])).toEqual([]);
  });
});
