import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openStore } from '../open-store.ts'
import { tidemark } from './commands/command-runner.child.ts'
import { textTable } from './output/text-table.ts'
import { visible } from './output/visible.ts'

test.each([
  [['tail', 'shop/orders', '--stor', './x'], "unknown option '--stor' (Did you mean --store?)"],
  [['leases', 'pause', '--grop', 'x'], "unknown option '--grop' (Did you mean --group?)"],
  [['leases', 'sek'], "unknown command 'sek' (Did you mean seek?)"],
  [
    ['store', 'check', '--store', './x'],
    "unknown option '--store'; see tidemark store check --help\n",
  ],
  [['ttl', 'show'], "missing required argument 'collection'; see tidemark ttl show --help\n"],
  [
    ['ttl', 'ls', 'shop/orders'],
    "too many arguments for 'show'. Expected 1 argument but got 2: ls, shop/orders; see tidemark ttl show --help\n",
  ],
  [['launch'], "unknown command 'launch'; see tidemark --help\n"],
  [['serve', '--memory', '--ui-read-only'], '--ui-read-only is for --ui'],
  [['tail', 'shop/orders'], "required option '--store <store>' not specified"],
])('%j is told in one line: %s', async (args, told) => {
  const { code, errors } = await tidemark(...args)
  expect(code).toBe(2)
  expect(errors).toContain(`tidemark: ERR_USAGE: ${told}`)
  expect(errors.trimEnd()).not.toContain('\n')
})

test('control characters of names do not reach the terminal', async () => {
  const { errors } = await tidemark('tail', 'a/b', '--from', '\u001b]0;owned\u0007\u009b2J\u202e')
  expect(errors).toContain(String.raw`\u001b]0;owned\u0007\u009b2J\u202e`)
  // oxlint-disable-next-line no-control-regex -- these are what must not be there
  expect(errors).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202e]/)
})

test('in JSON they are escapes with the same meaning', () => {
  const value = { id: 'a\u009b2J\u2028\u007f\u001b' }
  const text = visible(JSON.stringify(value))
  expect(text).toBe(String.raw`{"id":"a\u009b2J\u2028\u007f\u001b"}`)
  expect(JSON.parse(text)).toEqual(value)
})

test('a line end in a cell does not begin another row', () => {
  expect(textTable(['ID', 'N'], [['a\nb\u001b[2J', 1]])).toBe(
    'ID' + ' '.repeat(12) + ' N\n' + String.raw`a\nb\u001b[2J` + '  1\n',
  )
})

test('a check without findings says what was checked', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-check-'))
  try {
    await (await openStore(folder)).close()
    const { code, output } = await tidemark('store', 'check', folder)
    expect(code).toBe(0)
    expect(output).toContain(`the store in ${folder} opens`)
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('a port that another process has is told with its address', async () => {
  const server = createServer().listen(0, '127.0.0.1')
  try {
    await once(server, 'listening')
    const { port } = server.address() as AddressInfo
    const { code, errors } = await tidemark('serve', '--memory', '--port', String(port))
    expect(code).toBe(1)
    expect(errors).toMatch(/^tidemark: ERR_ADDRESS_UNAVAILABLE: .*another process has it.*\n$/)
    expect(errors).toContain(String(port))
  } finally {
    server.close()
  }
})
