import { existsSync } from 'node:fs'
import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openStore } from '../../index.ts'
import { tidemark } from './command-runner.child.ts'
import { Served } from './served-command.child.ts'

let folder: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-ui-'))
  await using store = await openStore({ folder: join(folder, 'data'), durability: 'relaxed' })
  await store.database('shop').createCollectionIfNotExists({ id: 'orders', partitionKey: '/id' })
})
afterEach(async () => {
  await Served.killAll()
  await rm(folder, { recursive: true, force: true })
})

const data = (): string => join(folder, 'data')

async function secrets(text: string, mode = 0o600): Promise<string> {
  const file = join(folder, 'credentials')
  await writeFile(file, text)
  await chmod(file, mode)
  return file
}

test('ui serves the page of a store on loopback, without a password, and ends with its streams', async () => {
  const args = ['ui', data(), '--port', '0', '--json', '--read-only', '--environment', 'test']
  const served = new Served(args)
  const { page } = await served.ready()
  const info = await fetch(`${String(page)}api/info`)
  expect(await info.json()).toMatchObject({ environment: 'test', readOnly: true, store: data() })
  const stream = await fetch(
    `${String(page)}api/streams/collection?database=shop&collection=orders`,
  )
  expect(stream.headers.get('content-type')).toMatch(/^text\/event-stream/)
  expect(await served.end('SIGTERM')).toBe(0)
  expect(served.errors).toBe('')
  await stream.text().catch(() => {})
})

test('off loopback ui needs credentials and encryption, and asks for them', async () => {
  const off = ['ui', data(), '--port', '0', '--host', '0.0.0.0']
  const open = await tidemark(...off)
  expect(open).toMatchObject({ code: 1, output: '' })
  expect(open.errors).toMatch(/^tidemark: ERR_INVALID_OPTION: .*--credentials-file/)
  const file = await secrets('# people\nbasic ada:pass:word\n\nbearer t0ken\n')
  const plain = await tidemark(...off, '--credentials-file', file)
  expect(plain.errors).toMatch(/^tidemark: ERR_INVALID_OPTION: plain http on 0\.0\.0\.0/)
  const served = new Served([...off, '--credentials-file', file, '--insecure-http', '--json'])
  const { page } = await served.ready()
  const asked = async (authorization?: string): Promise<number> => {
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization }
    return (await fetch(`${String(page)}api/info`, { headers })).status
  }
  const basic = (pair: string): string => `Basic ${Buffer.from(pair).toString('base64')}`
  expect(await asked()).toBe(401)
  expect(await asked(basic('ada:wrong'))).toBe(401)
  expect(await asked(basic('ada:pass:word'))).toBe(200)
  expect(await asked('Bearer t0ken')).toBe(200)
  expect(await served.end('SIGINT')).toBe(0)
})

test('a file with credentials that is malformed, empty or open to all is refused without its text', async () => {
  const cases: readonly (readonly [string, number, string])[] = [
    ['pa55word', 0o600, 'line 1 must be'],
    ['bearer t\nbasic pa55word', 0o600, 'line 2 must be'],
    ['bearer pa55 word', 0o600, 'line 1 must be'],
    ['# nothing\n', 0o600, 'holds no credentials'],
    ['bearer pa55word', 0o644, 'chmod'],
  ]
  for (const [text, mode, reason] of cases) {
    const file = await secrets(text, mode)
    const { code, errors } = await tidemark('ui', data(), '--credentials-file', file)
    expect([text, code]).toEqual([text, 1])
    expect(errors).toContain(reason)
    expect(errors).not.toMatch(/pa55/)
  }
  const missing = await tidemark('ui', data(), '--credentials-file', join(folder, 'no'))
  expect(missing.errors).toMatch(/^tidemark: ERR_INPUT: --credentials-file/)
})

test('serve has the page with --ui only, beside the gateway, and sends browsers there', async () => {
  const html = { headers: { accept: 'text/html' }, redirect: 'manual' } as const
  const without = new Served(['serve', data(), '--port', '0', '--json'])
  const plain = String((await without.ready())['endpoint'])
  expect((await fetch(plain, html)).status).toBe(401)
  await without.end('SIGTERM')
  const served = new Served(['serve', data(), '--port', '0', '--ui', '--json'])
  const { page, endpoint } = await served.ready()
  expect(page).toBe(endpoint)
  const sent = await fetch(String(page), html)
  expect([sent.status, sent.headers.get('location')]).toEqual([302, '/ui/'])
  const collections = await fetch(`${String(page)}ui/api/views/overview`)
  expect(await collections.json()).toMatchObject({ head: { collections: 1, readOnly: false } })
  expect((await fetch(`${String(page)}dbs`)).status).toBe(401)
  expect(await served.end('SIGTERM')).toBe(0)
  const missing = join(data(), 'missing')
  const off = await tidemark('serve', missing, '--ui', '--host', '0.0.0.0', '--insecure-http')
  expect(off.errors).toMatch(/^tidemark: ERR_INVALID_OPTION: .*--credentials-file/)
  expect(existsSync(missing)).toBe(false)
})
