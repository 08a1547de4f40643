import type { Locator, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { ProcessorGroup, DocumentLeaseStore, openDeadLetters } from 'tidemark'
import { axeViolations, OpenedBrowser, picture } from './opened-browser.ts'
import { ShopStage } from './shop-stage.ts'

// Everything that the page can do, done with the mouse and the keyboard on a real store, and looked up in the store.

const GROUP = '#/groups/shop%2Fleases/printer'

let browser: OpenedBrowser
let stage: ShopStage
let address: string

beforeAll(async () => {
  ;[browser, stage] = await Promise.all([OpenedBrowser.open(), ShopStage.open()])
  await stage.writeOrders(40)
  await stage.writeOrders(3, -1)
  await stage.fillQueues()
  await stage.startWorker({ name: 'printer-1', group: 'printer', failurePolicy: 'deadLetter' })
  address = await stage.serve()
})

afterEach(async () => {
  await browser.closePages()
  expect(browser.takeComplaints()).toEqual([])
})

afterAll(async () => {
  await browser[Symbol.asyncDispose]()
  await stage[Symbol.asyncDispose]()
})

async function opened(hash: string): Promise<Page> {
  const page = await browser.page()
  await page.goto(`${address}${hash}`)
  return page
}

/** Opens the dialog of a button, and waits until it says what it will do. */
async function asked(page: Page, button: string | RegExp, effect: RegExp): Promise<Locator> {
  await page.getByRole('main').getByRole('button', { name: button }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByText(effect).waitFor()
  expect(await axeViolations(page)).toEqual([])
  return dialog
}

/** Confirms, and waits until it is done. */
async function confirmed(dialog: Locator, verb: string): Promise<void> {
  await dialog.getByRole('button', { name: verb, exact: true }).click()
  await dialog.getByRole('button', { name: 'Close' }).click()
  await dialog.waitFor({ state: 'detached' })
}

async function withGroup<Result>(act: (group: ProcessorGroup) => Promise<Result>): Promise<Result> {
  const shop = stage.store.database('shop')
  const leases = new DocumentLeaseStore(shop.collection('leases'))
  await using group = new ProcessorGroup({ group: 'printer', leases })
  return await act(group)
}

const isPaused = (): Promise<boolean> => withGroup(async (group) => (await group.status()).paused)

test('a group is paused and resumed; to look at what that does changes nothing', async () => {
  const page = await opened(GROUP)
  const dialog = await asked(page, 'Pause …', /Nothing is processed until the group is resumed/)
  await picture(page, 'pause')
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await dialog.waitFor({ state: 'detached' })
  expect(await isPaused()).toBe(false)

  await confirmed(await asked(page, 'Pause …', /Nothing is processed/), 'Pause')
  expect(await isPaused()).toBe(true)
  await confirmed(await asked(page, 'Resume …', /go on exactly where/), 'Resume')
  expect(await isPaused()).toBe(false)
})

test('chosen ranges are moved back, after the page has shown what each of them will repeat', async () => {
  const page = await opened(GROUP)
  await page.getByRole('checkbox', { name: /^Choose range first–/ }).check()
  await page.getByRole('button', { name: 'Seek …' }).click()
  const dialog = page.getByRole('dialog', { name: 'Move 1 range of printer' })
  const move = dialog.getByRole('button', { name: 'Move', exact: true })
  expect(await move.isDisabled()).toBe(true)
  await dialog.getByRole('radio', { name: /^the beginning/ }).check()
  await dialog.getByRole('row', { name: /^first–\w+ .*delivers again$/ }).waitFor()
  expect(await axeViolations(page)).toEqual([])
  await picture(page, 'seek')
  // What was shown is of the beginning, and counts for nothing else.
  await dialog.getByRole('radio', { name: 'a point in time' }).check()
  expect(await move.isDisabled()).toBe(true)
  await dialog.getByLabel('Time, in your time zone').fill('2020-01-01T00:00:00')
  await dialog.getByRole('row', { name: /delivers again$/ }).waitFor()
  await confirmed(dialog, 'Move')
  // It has caught up again, at a higher epoch.
  await page.getByRole('main').getByText('Lag').first().waitFor()
})

test('a range is released', async () => {
  const [before] = await withGroup(async (group) => (await group.status()).leases)
  const page = await opened(GROUP)
  expect(await page.getByRole('button', { name: 'Release …' }).isDisabled()).toBe(true)
  await page.getByRole('checkbox', { name: /^Choose range first–/ }).check()
  await confirmed(await asked(page, 'Release 1 range …', /taken from printer-1/), 'Release')
  const [after] = await withGroup(async (group) => (await group.status()).leases)
  expect(after?.epoch).toBeGreaterThan(before?.epoch ?? Number.POSITIVE_INFINITY)
})

test('a dead letter is shown with its stack, one is dropped, the others are redriven', async () => {
  const page = await opened('#/letters/shop/orders')
  await page.getByRole('button', { name: 'bad0' }).click()
  const letter = page.getByRole('dialog', { name: 'Dead letter of bad0' })
  await letter.getByText(/worker\.child\.ts/).waitFor()
  expect(await axeViolations(page)).toEqual([])
  await picture(page, 'dead-letter')
  await page.keyboard.press('Escape')

  await page.getByRole('checkbox', { name: 'Choose letter of bad0' }).check()
  await confirmed(await asked(page, 'Drop 1 …', /1 dead letter of/), 'Drop for good')
  await page.getByRole('button', { name: 'bad0' }).waitFor({ state: 'detached' })
  await confirmed(await asked(page, 'Redrive all …', /2 dead letters of/), 'Redrive')
  // They fail again, and come back with a redrive more.
  const letters = await openDeadLetters(stage.store.database('shop'), 'orders')
  await expect
    .poll(async () => {
      const { letters: listed } = await letters.list({ group: 'printer' })
      return listed.map(({ redrives }) => redrives)
    })
    .toEqual([1, 1])
})

test('dead messages go back, a message is scheduled and cancelled', async () => {
  const counts = () => stage.broker.getQueueRuntimeProperties('mails')
  const page = await opened('#/queues/shop/mails?dead=1')
  await page
    .getByRole('cell', { name: /bounced: no such address/ })
    .first()
    .waitFor()
  await confirmed(await asked(page, 'Redrive all …', /2 messages move/), 'Redrive')
  expect(await counts()).toMatchObject({ deadLetterMessageCount: 0, activeMessageCount: 8 })

  await page.getByRole('button', { name: 'Send or schedule …' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Body: JSON, or a text').fill('{"to":"ann"}')
  await dialog.getByLabel('At, in your time zone (empty: now)').fill('2040-05-01T12:00:00')
  // The browser's zone, not the machine's.
  await dialog.getByText(/at 2040-05-01T10:00:00/).waitFor()
  await picture(page, 'schedule')
  await confirmed(dialog, 'Schedule')
  expect(await counts()).toMatchObject({ scheduledMessageCount: 2 })

  await page.getByLabel('Messages to show').selectOption('scheduled')
  await page.getByRole('cell', { name: /"to": ?"ann"/ }).waitFor()
  await page.getByRole('checkbox', { name: 'Choose all that are shown' }).check()
  await confirmed(await asked(page, 'Cancel scheduled …', /never delivered/), 'Cancel them')
  expect(await counts()).toMatchObject({ scheduledMessageCount: 0 })
})

test('a read-only page shows what would be done, and its server refuses to do it', async () => {
  const readOnly = await stage.serve({ readOnly: true })
  const page = await browser.page()
  await page.goto(`${readOnly}${GROUP}`)
  await page.getByRole('banner').getByText('read-only').waitFor()
  const dialog = await asked(page, 'Pause …', /Nothing is processed/)
  await dialog.getByText('This page is read-only').waitFor()
  expect(await dialog.getByRole('button', { name: 'Pause' }).isDisabled()).toBe(true)
  await picture(page, 'read-only')
  const answer = await fetch(`${readOnly}api/actions/pause`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-tidemark-action': '1' },
    body: JSON.stringify({ leases: 'shop/leases', group: 'printer' }),
  })
  expect([answer.status, await answer.json()]).toMatchObject([403, { code: 'ERR_READ_ONLY' }])
  expect(await isPaused()).toBe(false)
})

test('documents are found by id and key, page by page, and seen as they change; markup in them is text', async () => {
  const id = '<img src=x onerror="alert(1)">'
  await stage.orders.upsert({ id, customerId: 'c1', total: 7 })
  const page = await opened('#/collections/shop/orders?part=documents')
  await page.getByLabel('Id', { exact: true }).fill(id)
  await page.getByLabel('Partition key').fill('c1')
  await page.getByRole('button', { name: 'Look' }).click()
  await page.getByRole('button', { name: id }).click()
  await page.getByRole('dialog', { name: id }).getByText('"total": 7').waitFor()
  expect(await page.locator('img').count()).toBe(0)
  await page.keyboard.press('Escape')
  // As it goes, the form is drawn anew.
  await page.getByRole('dialog', { name: id }).waitFor({ state: 'detached' })

  await page.getByLabel('Id', { exact: true }).fill('')
  await page.getByLabel('Partition key').fill('')
  await page.getByLabel('Feed from').fill('beginning')
  await page.getByRole('button', { name: 'Look' }).click()
  const later = page.getByRole('button', { name: 'Later ones' })
  await page
    .getByRole('row', { name: /tailed|bad\d|o\d/ })
    .first()
    .waitFor()
  await expect
    .poll(async () => {
      await later.click()
      return page.getByText('caught up').count()
    })
    .toBe(1)

  await page.getByRole('link', { name: 'Live tail' }).click()
  await page.getByText('Nothing has changed since').waitFor()
  // Whatever the stream begins with, some of them come after it.
  await expect
    .poll(async () => {
      await stage.orders.upsert({ id: 'tailed', customerId: 'c1', total: 8 })
      return page.getByRole('button', { name: 'tailed' }).count()
    })
    .toBeGreaterThan(0)
})
