import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parseDemoOptions } from './demo-options.ts'

/** For a demo that hangs, which says so by itself; how fast a machine is decides nothing. */
const BUSY_MS = 600_000
const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url))

async function demo(...args: readonly string[]) {
  const child = spawn(process.execPath, ['--conditions=@tidemark/source', MAIN, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  let errors = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text))
  await once(child, 'close')
  return { code: child.exitCode, lines: output.trimEnd().split('\n'), errors }
}

const LAST_LINE =
  /^migrated (\d+) documents, (\d+) updates on the way, (\d+) takeovers: 0 missing, 0 different$/

test(
  'JB-1 the demo with few cities: a worker is killed, another one leaves, and nothing is missing or different',
  async () => {
    const args = ['--cities', '6000', '--pace', '500', '--writes-per-second', '100']
    const { code, lines, errors } = await demo(...args)
    expect({ code, errors }).toEqual({ code: 0, errors: '' })
    const [, documents, updates, takeovers] = LAST_LINE.exec(lines.at(-1) ?? '') ?? []
    expect(Number(documents)).toBeGreaterThanOrEqual(6_000)
    expect(Number(updates)).toBeGreaterThan(100)
    expect(Number(takeovers)).toBeGreaterThan(0)
    expect(lines.filter((line) => line.includes('Error'))).toEqual([])
    expect(
      lines.some((line) => /^SIGKILL to worker-\d in the middle of \d+ range/.test(line)),
    ).toBe(true)
  },
  BUSY_MS,
)

test('arguments that the demo does not know are one line and a failure', async () => {
  const { code, errors } = await demo('--leases', 'nowhere')
  expect(code).toBe(1)
  expect(errors).toBe('demo: --leases must be "documents" or "redis", got "nowhere"\n')
})

test.each([
  [['--store', 'redis'], '--store must be "folder" or "postgres", got "redis"'],
  [['--postgres-url', 'postgres://host/db'], '--postgres-url needs --store postgres'],
  [['--store', 'postgres', '--folder', 'data'], '--folder needs --store folder'],
])('%s is a mistake', (args, told) => {
  expect(() => parseDemoOptions(args)).toThrow(new Error(told))
})
