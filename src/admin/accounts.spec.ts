import { Accounts } from './accounts.js';

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
    [basic('unknown:secret'), null],
    ['Basic !!!', null],
    ['Bearer secret', null],
    ['', null],
    [undefined, null],
  ])('authenticate %j as %j', (header, name) => {
    expect(accounts.whose(header)).toBe(name);
  });

  it('are not needed when there are none', () => {
    expect(new Accounts({}).areNeeded).toBe(false);
    expect(new Accounts({}).whose(basic(':'))).toBeNull();
    expect(accounts.areNeeded).toBe(true);
  });
});
