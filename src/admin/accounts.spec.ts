import { Accounts } from './accounts.js';
import { isLoopback } from './admin-http.js';

function basic(text: string): string {
  return `Basic ${Buffer.from(text).toString('base64')}`;
}

describe('accounts', () => {
  const accounts = new Accounts({ ops: 'secret', 'ops:x': 'y', ünï: 'pässwort' });

  it.each([
    [basic('ops:secret'), 'ops'],
    [basic('ünï:pässwort'), 'ünï'],
    [basic('ops:secret').replace('Basic', 'basic'), 'ops'],
    [basic('ops:secret '), null],
    [basic('ops:'), null],
    [basic('nobody:secret'), null],
    ['Basic !!!', null],
    ['Bearer secret', null],
    ['', null],
    [undefined, null],
  ])('%j is %j', (header, name) => {
    expect(accounts.whose(header)).toBe(name);
  });

  it('are not needed when there are none', () => {
    expect(new Accounts({}).areNeeded).toBe(false);
    expect(new Accounts({}).whose(basic(':'))).toBeNull();
    expect(accounts.areNeeded).toBe(true);
  });
});

describe('loopback addresses', () => {
  it.each([
    ['127.0.0.1', true],
    ['127.8.9.10', true],
    ['::1', true],
    ['[::1]', true],
    ['localhost', true],
    ['0.0.0.0', false],
    ['::', false],
    ['10.0.0.1', false],
    ['127.0.0.1.example.org', false],
    ['', false],
  ])('%j: %j', (host, is) => {
    expect(isLoopback(host)).toBe(is);
  });
});
