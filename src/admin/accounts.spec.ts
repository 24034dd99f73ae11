import { Accounts } from './accounts.js';

function basic(text: string): string {
  return `Basic ${Buffer.from(text).toString('base64')}`;
}

describe('the accounts of the admin port', () => {
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
  ])('give for the Authorization header %j the account %j (null: refused)', (header, name) => {
    expect(accounts.whose(header)).toBe(name);
  });

  it('require no login if no account is configured', () => {
    expect(new Accounts({}).areNeeded).toBe(false);
    expect(new Accounts({}).whose(basic(':'))).toBeNull();
    expect(accounts.areNeeded).toBe(true);
  });
});
