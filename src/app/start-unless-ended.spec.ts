import { startUnlessEnded } from './start-unless-ended.js';

describe('the start of a server', () => {
  const never = new Promise<never>(() => undefined);

  it('is abandoned after SIGTERM if it does not end', async () => {
    expect(await startUnlessEnded(never, Promise.resolve('SIGTERM'))).toBeNull();
  });

  it('returns the server if it ends without a signal or soon after SIGTERM', async () => {
    expect(await startUnlessEnded(Promise.resolve('server'), never)).toBe('server');
    expect(await startUnlessEnded(Promise.resolve('server'), Promise.resolve('SIGTERM'))).toBe('server');
  });

  it('fails with its error, but ends without an error after SIGTERM', async () => {
    await expect(startUnlessEnded(Promise.reject(new Error('no Redis')), never)).rejects.toThrow('no Redis');
    const late = new Promise<never>((_resolve, reject) => {
      setTimeout(() => reject(new Error('no Redis')), 20);
    });
    expect(await startUnlessEnded(late, Promise.resolve('SIGTERM'))).toBeNull();
  });
});
