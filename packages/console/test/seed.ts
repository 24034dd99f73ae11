import type { ConsoleApp } from './console-app.js';

/** Data that a careless page would change, run, or be changed by. */
export const HOSTILE = [
  ...['{"order":12345678901234567890,"total":1.10,"a":1,"a":2', '"__proto__":{"x":1}'],
  ...[
    '"html":"<img src=x onerror=alert(1)>"',
    String.raw`"ansi":"\u001b[31mred"`,
    String.raw`"rtl":"\u202eabc"`,
  ],
  `"long":"${'x'.repeat(60_000)}"}`,
].join(',');

/** A failed job with hostile texts, dead ones of a group, a paused queue, a schedule, a worker session. */
export async function seed(at: ConsoleApp): Promise<void> {
  const call = (...of: Parameters<ConsoleApp['call']>) => at.call(...of);
  const options = '"queue":"billing","id":"invoice-17","type":"invoice","tries":1';
  await call('POST', '/jobs', `{${options},"data":${HOSTILE}}`);
  await at.fail('billing', 'invoice-17', 'card_declined', '<b>declined</b>\n  at charge \u202e');
  for (const id of ['one', 'two']) {
    await call('POST', '/jobs', { queue: 'billing', id, type: 'invoice', tries: 1 });
    await at.fail('billing', id, 'smtp', 'no route');
  }
  await call('POST', '/jobs', {
    jobs: [1, 2, 3].map((data) => ({ queue: 'mail', type: 'welcome', data })),
  });
  await call('POST', '/queues/report/pause');
  const schedule = { cron: '30 2 * * 1-5', tz: 'Europe/Berlin' };
  await call('PUT', '/recurring/nightly', { schedule, job: { queue: 'report' } });
  for (const id of ['pack', 'label']) await call('POST', '/jobs', { queue: 'parcel', id, type: 'parcel' });
  await call('POST', '/jobs', {
    queue: 'parcel',
    id: 'ship',
    type: 'parcel',
    depends_on: ['pack', 'label'],
  });
  await call('POST', '/jobs', { queue: 'parcel', id: 'bill', type: 'parcel', depends_on: ['ship'] });
  const info = { name: 'mailer', host: 'host-1', pid: 4_711, queues: ['mail'], concurrency: 8 };
  await call('POST', '/workers/mailer-1/heartbeat', { ttr_ms: 600_000, leases: [], info });
}

/** A queue that is leased by type, with jobs of two types that no worker asks for. */
export async function seedTypes(at: ConsoleApp): Promise<void> {
  const jobs = ['mail', 'fax', 'sms'].map((type) => ({ queue: 'typed', id: `job-${type}`, type }));
  await at.call('POST', '/jobs', { jobs });
  await at.call('POST', '/leases', { queues: ['typed'], types: ['mail'], ttr_ms: 600_000 });
}
