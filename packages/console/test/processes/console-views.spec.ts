import { brokenRules, CHROMIUM, type Console, overflowOf } from '../browser.js';
import { ConsoleApp, isShown } from '../console-app.js';
import { seed, seedTypes } from '../seed.js';

const LIMIT_MS = 300_000;
const whereThere = CHROMIUM === null ? describe.skip : describe;

whereThere('the views of the console', () => {
  let at: ConsoleApp;
  let browser: Console;

  beforeAll(async () => {
    at = await ConsoleApp.open();
    ({ browser } = at);
    await at.makeToken();
    await seed(at);
    await seedTypes(at);
    await addHistory();
  }, LIMIT_MS);
  afterAll(() => at.stop());

  /** An operation that was stopped, a token with a limit that was replaced, and a quota. */
  async function addHistory(): Promise<void> {
    const respawn = { action: 'respawn', filter: { group: 'smtp' }, rate_per_s: 1 };
    const { id } = await at.call('POST', '/operations', respawn);
    await at.call('POST', `/operations/${String(id)}/stop`);
    const { json } = await at.app.admin('POST', '/token/shop?description=rotated');
    const { token } = json as { token: string };
    await at.call('PATCH', '/queues/typed', { fair: true });
    await at.call('POST', '/jobs', { queue: 'typed', fair_key: 'acme' });
    await at.call('POST', '/queues/typed/pause', { fair_key: 'acme', note: 'n', for_ms: 3_600_000 });
    const calls = [
      ['PUT', `/token/shop/${token}/limit`, { interval: 1, read: 100 }],
      ['POST', `/token/shop/${token}/rotate?grace=1h`, {}],
      ['PUT', '/namespaces/shop/quotas', { max_jobs_per_queue: 5_000 }],
    ] as const;
    for (const [method, path, body] of calls) {
      const { status } = await at.app.admin(method, path, { body: JSON.stringify(body) });
      expect([path, status < 300]).toEqual([path, true]);
    }
  }

  const VIEWS = [
    ...['/', '/n/shop/queues/typed', '/n/shop/jobs', '/n/shop/jobs/invoice-17', '/n/shop/jobs/ship'],
    ...['/n/shop/dead', '/n/shop/schedules', '/n/shop/workers', '/n/shop/targets', '/n/shop/operations'],
    ...['/n/shop/live', '/n/shop/tokens', '/redis', '/accounts', '/audit', '/nothing'],
  ];

  it.each(VIEWS)(
    'breaks no rule of accessibility in %s, in light and dark, and fits 360 pixels and a zoom of 200 %',
    (route) =>
      at.using(browser.page(route), async (page) => {
        await isShown(page);
        expect(await brokenRules(page)).toEqual([]);
        await page.emulateMedia({ colorScheme: 'dark' });
        expect(await brokenRules(page, ['color-contrast'])).toEqual([]);
        // The lines that can be copied are the longest ones.
        await page
          .locator('main summary:visible')
          .evaluateAll((all) => all.forEach((one) => (one as HTMLElement).click()));
        for (const width of [640, 360]) {
          await page.setViewportSize({ width, height: 430 });
          expect([width, await overflowOf(page)]).toEqual([width, 0]);
        }
      }),
    LIMIT_MS,
  );
});
