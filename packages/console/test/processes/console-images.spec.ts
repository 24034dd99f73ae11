import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Page } from 'playwright-core';
import { ROOT } from '../../../../test/support/packed.js';
import { CHROMIUM } from '../browser.js';
import { ConsoleApp, isShown } from '../console-app.js';

const LIMIT_MS = 300_000;
const whereThere = CHROMIUM === null ? describe.skip : describe;

/** `npm run docs:images` makes the images and the list of their words; without it they are compared with the pages. */
const MAKES_IMAGES = process.env.PUMPHOUSE_MAKE_IMAGES === '1';
/** The history has a point for each ten seconds. */
const RUN_MS = 100_000;
/** Charts follow a change of the colours. */
const REDRAWN_MS = 500;
const WIDTH = 1_280;
const MOST_HEIGHT = 860;
const FOLDER = join(ROOT, 'docs', 'images');
const WORDS = join(FOLDER, 'words.json');

/** By the name of the image. */
const ROUTES: Readonly<Record<string, string>> = {
  overview: '/',
  queue: '/n/shop/queues/orders',
  job: '/n/shop/jobs/invoice-17',
  dependencies: '/n/shop/jobs/ship-9',
  'dead-letters': '/n/shop/dead',
};

whereThere('the images of the documents', () => {
  let at: ConsoleApp;
  const wordsByName: Record<string, readonly string[]> = MAKES_IMAGES
    ? {}
    : (JSON.parse(readFileSync(WORDS, 'utf8')) as Record<string, readonly string[]>);

  beforeAll(async () => {
    at = await ConsoleApp.open();
    await at.makeToken();
    await seed();
    if (MAKES_IMAGES) await runJobs();
  }, LIMIT_MS);
  afterAll(async () => {
    if (MAKES_IMAGES) writeFileSync(WORDS, `${JSON.stringify(wordsByName, null, 2)}\n`);
    await at.stop();
  });

  it.each(Object.entries(ROUTES))(
    'are of pages with the same words: %s',
    (name, route) =>
      at.using(at.browser.page(route), async (page) => {
        await isShown(page);
        await page.waitForLoadState('networkidle');
        await page.setViewportSize({ width: WIDTH, height: await heightOf(page) });
        if (MAKES_IMAGES) {
          wordsByName[name] = await wordsOf(page);
          mkdirSync(FOLDER, { recursive: true });
          for (const colorScheme of ['light', 'dark'] as const) {
            await page.emulateMedia({ colorScheme });
            await page.waitForTimeout(REDRAWN_MS);
            await page.screenshot({ path: join(FOLDER, `${name}-${colorScheme}.png`) });
          }
        }
        expect(await wordsOf(page)).toEqual(wordsByName[name]);
      }),
    LIMIT_MS,
  );

  /** A shop: mails that wait, a bill that failed, a parcel that waits for others, a report every night. */
  async function seed(): Promise<void> {
    const order = { order: 17, total: '49.90', currency: 'EUR', customer: 'ada@example.com' };
    await publish({ queue: 'billing', id: 'invoice-17', type: 'invoice', tries: 1, data: order });
    await at.fail('billing', 'invoice-17', 'card_declined', 'the bank declined the card: insufficient funds');
    for (const id of ['invoice-18', 'invoice-19', 'invoice-20']) {
      await publish({ queue: 'billing', id, type: 'invoice', tries: 1 });
      await at.fail('billing', id, 'bank_timeout', 'no answer from bank.example within 10000 ms');
    }
    for (let i = 1; i <= 24; i++) {
      await publish({ queue: 'mail', type: 'welcome', data: { to: `user-${String(i)}@example.com` } });
    }
    await publish({ queue: 'orders', type: 'order' });
    await publish({ queue: 'mail', type: 'reminder', delay_ms: 3_600_000 });
    const info = { name: 'mailer', host: 'host-1', pid: 4_711, queues: ['mail'], concurrency: 8 };
    await at.call('POST', '/workers/mailer-1/heartbeat', { ttr_ms: 600_000, leases: [], info });
    await at.call('POST', '/leases', { queues: ['mail'], count: 8, worker: 'mailer-1', ttr_ms: 600_000 });
    for (const id of ['pack-9', 'label-9']) await publish({ queue: 'parcel', id, type: 'parcel' });
    await publish({ queue: 'parcel', id: 'ship-9', type: 'parcel', depends_on: ['pack-9', 'label-9'] });
    await publish({ queue: 'parcel', id: 'tell-customer-9', type: 'mail', depends_on: ['ship-9'] });
    await at.call('POST', '/queues/report/pause');
    await at.call('PUT', '/recurring/nightly', {
      schedule: { cron: '30 2 * * 1-5', tz: 'Europe/Berlin' },
      job: { queue: 'report' },
    });
  }

  /** Jobs that are published, leased and acknowledged, for long enough that the charts have lines. */
  async function runJobs(): Promise<void> {
    const untilMs = Date.now() + RUN_MS;
    for (let i = 0; Date.now() < untilMs; i++) {
      const count = 4 + Math.round(3 * Math.sin(i / 25));
      for (let n = 0; n < count; n++) await publish({ queue: 'orders', type: 'order', priority: 1 });
      const leased = await at.call('POST', '/leases', { queues: ['orders'], count: 4, worker: 'orders-1' });
      const { jobs } = leased as { jobs: { id: string; lease: number }[] };
      await sleep(100);
      for (const { id, lease } of jobs) await at.call('POST', `/jobs/${id}/ack`, { lease });
    }
  }

  const publish = (job: object): Promise<unknown> => at.call('POST', '/jobs', job);
});

/** Headings, names of columns, buttons and links of a page: what changes only if the page does. Charts may be empty. */
async function wordsOf(page: Page): Promise<string[]> {
  const texts = await page.locator('h1, h2, h3, th:not(.plot *), dt, nav a, main button').allInnerTexts();
  return texts.map((text) => text.replaceAll(/\s+/g, ' ').replaceAll(/\d+/g, '0').trim());
}

/** Of the part that has something in it, in pixels. */
async function heightOf(page: Page): Promise<number> {
  const box = await page.locator('main').boundingBox();
  const bottoms = await page
    .locator('main > *, nav a')
    .evaluateAll((all) => all.map((one) => one.getBoundingClientRect().bottom));
  return Math.min(MOST_HEIGHT, Math.ceil(Math.max(box?.y ?? 0, ...bottoms)) + 24);
}
