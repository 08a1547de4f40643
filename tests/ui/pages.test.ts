import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { axeViolations, expectNoSidewaysScroll, OpenedBrowser, picture } from './opened-browser.ts'
import { ShopStage } from './shop-stage.ts'
import type { WorkerProcess } from './worker-process.ts'

// Every page on a shop in which everything has happened: splits and a merge, a killed host, a silent one, a halted range, dead
// letters, queues, topics, expiry. In light and dark, wide and narrow; nothing is clicked that changes anything.

let browser: OpenedBrowser
let stage: ShopStage
let address: string
let thirdPrinter: WorkerProcess

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
})

afterEach(async () => {
  await browser.closePages()
  expect(browser.takeComplaints()).toEqual([])
})

afterAll(async () => {
  await browser[Symbol.asyncDispose]()
  await stage[Symbol.asyncDispose]()
})

/** Each page by its address, with something that it shows when it is complete. */
const PAGES: readonly (readonly [name: string, hash: string, text: string])[] = [
  ['overview', '#/', 'search'],
  ['groups', '#/groups', 'printer'],
  ['group', '#/groups/shop%2Fleases/printer', 'printer-1'],
  ['halted-group', '#/groups/shop%2Fleases/billing', 'halted'],
  ['transitions', '#/groups/shop%2Fleases/printer?timeline=list', 'printer-1'],
  ['collections', '#/collections', 'shop/sessions'],
  ['ranges', '#/collections/shop/orders', 'split off'],
  ['documents', '#/collections/shop/orders?part=documents&key=c7', 'o7'],
  ['feed', '#/collections/shop/orders?part=documents&from=beginning', 'document'],
  ['tail', '#/collections/shop/orders?part=tail', 'Nothing has changed'],
  ['expiry', '#/collections/shop/sessions?part=expiry', 'archive'],
  ['dead-letter-places', '#/letters', 'shop/orders'],
  ['dead-letters', '#/letters/shop/orders', 'negative total'],
  ['queues', '#/queues', 'mails'],
  ['queue', '#/queues/shop/mails', 'hello'],
  ['dead-messages', '#/queues/shop/mails?dead=1', 'no such address'],
  ['sessions', '#/queues/shop/visits', 'Sessions'],
  ['topic', '#/queues/shop/news', 'Subscriptions'],
  ['subscription', '#/queues/shop/news%2FSubscriptions%2Faudit', 'Rules'],
  ['nowhere', '#/nowhere', 'There is no such page'],
]

async function shows(page: Page, text: string): Promise<void> {
  await page.getByRole('main').getByText(text).first().waitFor()
}

test.each(PAGES)('the page %s is complete, accessible, and fits', async (name, hash, text) => {
  const page = await browser.page()
  await page.goto(`${address}${hash}`)
  await shows(page, text)
  await expectNoSidewaysScroll(page)
  expect(await axeViolations(page)).toEqual([])
  await picture(page, name)
  await page.emulateMedia({ colorScheme: 'dark' })
  await page.setViewportSize({ width: 360, height: 740 })
  await expectNoSidewaysScroll(page)
  expect(await axeViolations(page)).toEqual([])
  await picture(page, `${name}-dark-narrow`)
})

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
  await picture(page, 'group-after-a-kill')
})
