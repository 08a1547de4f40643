import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import {
  axeViolations,
  expectNoSidewaysScroll,
  OpenedBrowser,
  picture,
  pictureInBothSchemes,
} from './opened-browser.ts'
import { ShopStage } from './shop-stage.ts'
import type { WorkerProcess } from './worker-process.ts'

// Every page on a shop in which everything has happened: splits and a merge, a killed host, a silent one, a halted range, dead
// letters, queues, topics, expiry. In light and dark, wide and narrow; nothing is clicked that changes anything.

let browser: OpenedBrowser
let stage: ShopStage
let address: string
let thirdPrinter: WorkerProcess
/** Both go from page to page, as people do. */
let wide: Page
let narrow: Page

beforeAll(async () => {
  ;[browser, stage] = await Promise.all([OpenedBrowser.open(), ShopStage.open()])
  await stage.writeOrders(120)
  await stage.fillQueues()
  await stage.fillSessions()
  const printer = { group: 'printer', failurePolicy: 'deadLetter' } as const
  const [third] = await Promise.all([
    stage.startWorker({ name: 'printer-3', ...printer }),
    stage.startWorker({ name: 'printer-1', ...printer }),
    stage.startWorker({ name: 'printer-2', ...printer }),
    stage.startWorker({ name: 'billing-1', group: 'billing', failurePolicy: 'haltRange' }),
    stage
      .startWorker({ name: 'search-1', group: 'search', failurePolicy: 'haltRange' })
      .then((search) => search.kill()),
  ])
  thirdPrinter = third
  await stage.splitOrders()
  await stage.writeOrders(3, -1)
  await stage.sweepSessions()
  address = await stage.serve({ environment: 'staging' })
  wide = await browser.page()
  narrow = await browser.page({ colorScheme: 'dark', viewport: { width: 360, height: 740 } })
})

afterEach(() => {
  expect(browser.takeComplaints()).toEqual([])
})

afterAll(async () => {
  await browser[Symbol.asyncDispose]()
  await stage[Symbol.asyncDispose]()
})

/** Each page by its address, its heading, and something that it shows when it is complete. */
const PAGES: readonly (readonly [name: string, hash: string, heading: string, text: string])[] = [
  ['overview', '#/', 'Overview', 'search'],
  ['groups', '#/groups', 'Groups', 'printer'],
  ['group', '#/groups/shop%2Fleases/printer', 'printer', 'printer-1'],
  [
    'transitions',
    '#/groups/shop%2Fleases/printer?timeline=list',
    'printer',
    'whole group|acquired',
  ],
  ['halted-group', '#/groups/shop%2Fleases/billing', 'billing', 'halted'],
  ['collections', '#/collections', 'Collections', 'shop/sessions'],
  ['ranges', '#/collections/shop/orders', 'orders', 'split off'],
  ['documents', '#/collections/shop/orders?part=documents&key=c7', 'orders', '^o7$'],
  [
    'feed',
    '#/collections/shop/orders?part=documents&from=beginning',
    'orders',
    'caught up|document',
  ],
  ['tail', '#/collections/shop/orders?part=tail', 'orders', 'Nothing has changed'],
  ['expiry', '#/collections/shop/sessions?part=expiry', 'sessions', 'archive'],
  ['dead-letter-places', '#/letters', 'Dead letters', 'shop/orders'],
  ['dead-letters', '#/letters/shop/orders', 'Dead letters of orders', 'negative total'],
  ['queues', '#/queues', 'Queues and topics', 'mails'],
  ['queue', '#/queues/shop/mails', 'mails', 'example.org'],
  ['dead-messages', '#/queues/shop/mails?dead=1', 'mails', 'no such address'],
  ['sessions', '#/queues/shop/visits', 'visits', '^ann$'],
  ['topic', '#/queues/shop/news', 'news', 'Subscriptions'],
  ['subscription', '#/queues/shop/news%2FSubscriptions%2Faudit', 'audit', '1=1'],
  ['nowhere', '#/nowhere', 'There is no such page', 'Overview'],
]

test.each(PAGES)(
  'the page %s is complete, accessible, and fits',
  async (name, hash, heading, text) => {
    for (const page of [wide, narrow]) {
      await page.goto(`${address}${hash}`)
      await page.getByRole('heading', { level: 1, name: heading, exact: true }).waitFor()
      await page
        .getByRole('main')
        .getByText(new RegExp(text))
        .first()
        .waitFor({ state: 'attached' })
      await expectNoSidewaysScroll(page)
      expect(await axeViolations(page)).toEqual([])
    }
    await (name === 'overview' ? pictureInBothSchemes : picture)(wide, name)
    await picture(narrow, `${name}-dark-narrow`)
  },
)

test('a killed host loses its ranges to others before the eyes of whoever looks', async () => {
  const page = await browser.page({ viewport: { width: 1280, height: 1340 } })
  await page.goto(`${address}#/groups/shop%2Fleases/printer`)
  const map = page.getByRole('table', { name: /^Ownership map/ })
  const head = map.getByRole('columnheader', { name: 'printer-3' })
  await head.waitFor()
  // Under way, so that the picture has some lag.
  const writing = stage.writeOrders(400)
  await thirdPrinter.kill()
  await head.waitFor({ state: 'detached' })
  await writing
  // Whatever it had, others have.
  const ranges = Number(await map.getAttribute('aria-rowcount')) - 1
  await expect.poll(() => map.getByRole('cell', { name: 'owned' }).count()).toBe(2 * ranges)
  await page.getByRole('button', { name: 'Show as list' }).click()
  await page
    .getByRole('row', { name: /taken over .* printer-3/ })
    .first()
    .waitFor()
  await page.getByRole('button', { name: 'Show as bars' }).click()
  await pictureInBothSchemes(page, 'group-after-a-kill')
})
