import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { ProcessorGroup, DocumentLeaseStore } from 'tidemark'
import { OpenedBrowser } from './opened-browser.ts'
import { ShopStage } from './shop-stage.ts'

let browser: OpenedBrowser
let stage: ShopStage

beforeAll(async () => {
  ;[browser, stage] = await Promise.all([OpenedBrowser.open(), ShopStage.open()])
  await stage.startWorker({ name: 'printer-1', group: 'printer', failurePolicy: 'deadLetter' })
})

afterEach(async () => {
  await browser.closePages()
  expect(browser.takeComplaints()).toEqual([])
})

afterAll(async () => {
  await browser[Symbol.asyncDispose]()
  await stage[Symbol.asyncDispose]()
})

async function isPaused(): Promise<boolean> {
  const leases = new DocumentLeaseStore(stage.store.database('shop').collection('leases'))
  await using group = new ProcessorGroup({ group: 'printer', leases })
  return (await group.status()).paused
}

test('nothing is shown without the password or with a wrong one; with the right one all is', async () => {
  const address = await stage.serve({ credentials: { basic: ['ann:right'] } })
  const wrong = { httpCredentials: { username: 'ann', password: 'wrong' } }
  for (const options of [{}, wrong]) {
    const stranger = await browser.page(options)
    const outcome = await stranger.goto(address).then(
      (answer) => answer?.status(),
      (error: unknown) => String(error),
    )
    expect(String(outcome)).toMatch(/^401$|ERR_INVALID_AUTH_CREDENTIALS/)
    for (const path of ['api/info', 'api/views/overview', 'api/streams/overview', 'assets/x.js']) {
      expect((await stranger.request.get(`${address}${path}`)).status()).toBe(401)
    }
    await browser.closePages()
  }
  expect(browser.takeComplaints()).toHaveLength(2)

  const ann = await browser.page({ httpCredentials: { username: 'ann', password: 'right' } })
  await ann.goto(`${address}#/groups`)
  await ann.getByRole('link', { name: 'printer' }).waitFor()
})

test('a page of another site pauses nothing, by form, script or image', async () => {
  const address = await stage.serve()
  const page = await browser.page()
  const body = JSON.stringify({ leases: 'shop/leases', group: 'printer' })
  await page.route('http://evil.example/', (route) =>
    route.fulfill({
      contentType: 'text/html',
      body: `<form method="post" enctype="text/plain" action="${address}api/actions/pause" target="frame">
        <input name='${body.slice(0, -1)},"x":"' value='"}'></form><iframe name="frame"></iframe><link rel="icon" href="data:,">`,
    }),
  )
  await page.goto('http://evil.example/')
  await page.evaluate('document.querySelector("form").submit()')
  const attempts = [
    { mode: 'no-cors', headers: { 'content-type': 'text/plain' } },
    { mode: 'cors', headers: { 'content-type': 'application/json', 'x-tidemark-action': '1' } },
  ]
  for (const attempt of attempts) {
    const init = JSON.stringify({ method: 'POST', body, credentials: 'include', ...attempt })
    const outcome = await page.evaluate(
      `fetch('${address}api/actions/pause', ${init}).then(({ type }) => type, () => 'failed')`,
    )
    expect(['opaque', 'failed']).toContain(outcome)
  }
  const read = await page.evaluate(
    `fetch('${address}api/views/overview').then((answer) => answer.text(), () => 'failed')`,
  )
  expect(read).toBe('failed')
  expect(await isPaused()).toBe(false)
  // The same by a client that a browser's rules do not bind.
  const forged = await fetch(`${address}api/actions/pause`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: 'http://evil.example' },
    body,
  })
  expect([forged.status, await forged.json()]).toMatchObject([403, { code: 'ERR_CROSS_SITE' }])
  // The browser itself said no, at least to what it asks for permission.
  expect(browser.takeComplaints().join(' ')).toMatch(/CORS|ERR_FAILED/)
})

test('a name that was pointed to this machine is refused', async () => {
  const { port } = new URL(await stage.serve())
  const page = await browser.page()
  const answer = await page.goto(`http://rebound.example:${port}/`)
  expect([answer?.status(), await answer?.json()]).toMatchObject([403, { code: 'ERR_WRONG_HOST' }])
  for (const path of ['api/info', 'api/views/overview', 'api/streams/overview']) {
    const refused = await page.goto(`http://rebound.example:${port}/${path}`)
    expect(refused?.status()).toBe(403)
  }
  for (const complaint of browser.takeComplaints()) expect(complaint).toContain('403')
})

test('the page runs no script but its own, and asks nobody but its server', async () => {
  const address = await stage.serve()
  const page = await browser.page()
  const asked: string[] = []
  page.on('request', (request) => asked.push(new URL(request.url()).origin))
  await page.goto(`${address}#/groups/shop%2Fleases/printer`)
  await page.getByRole('columnheader', { name: 'printer-1' }).waitFor()
  expect(new Set(asked)).toEqual(new Set([new URL(address).origin]))
  await page.evaluate(`
    const script = document.createElement('script')
    script.textContent = 'globalThis.wasRun = true'
    document.body.append(script)
    document.body.insertAdjacentHTML('beforeend', '<p style="color: red" onclick="globalThis.wasRun = true">x</p>')
    document.body.lastElementChild.click()`)
  expect(await page.evaluate('globalThis.wasRun')).toBeUndefined()
  const complaints = browser.takeComplaints()
  expect(complaints.length).toBeGreaterThanOrEqual(3)
  for (const complaint of complaints) expect(complaint).toContain('Content Security Policy')
})
