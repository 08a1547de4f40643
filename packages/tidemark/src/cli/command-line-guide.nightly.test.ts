import { execFile } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { shownPartitionKey, partitionKeyValue } from './arguments/parse-value.ts'

const run = promisify(execFile)
const MAIN = fileURLToPath(new URL('./main.ts', import.meta.url))
const GUIDE = new URL('../../../../docs/guide/command-line.md', import.meta.url)

test.runIf(process.platform !== 'win32')(
  'the first steps of the guide, as they are written',
  async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tidemark-guide-'))
    const [, steps = ''] = /```sh\n(.*?)```/s.exec(await readFile(GUIDE, 'utf8')) ?? []
    const program = `tidemark() { '${process.execPath}' --conditions=@tidemark/source '${MAIN}' "$@"; }`
    try {
      const script = `${program}\n${steps}`
      const { stdout, stderr } = await run('bash', ['--norc', '-euc', script], { cwd: folder })
      expect(stderr).toBe('')
      expect(stdout).toMatch(
        new RegExp(
          [
            String.raw`^made a store in \./data\nnext: .*\nCOLLECTION .*\norders .*\ncreated: o1\n\{\n`,
            String.raw`.*"total": 12,.*\}\nchanged: o1\nCOLLECTION .*\norders +/customerId +1 +1 .*\n`,
            String.raw`ID .*\no1 +c7 +\S+\n1\ndeleted: o1\ndeleted: shop/orders\n$`,
          ].join(''),
          's',
        ),
      )
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  },
)

test.each([
  ['c7'],
  [7],
  ['7'],
  [''],
  ['true'],
  [true],
  [null],
  [undefined],
  ['a b'],
  ['["x"]'],
  ['{}'],
  [' 7'],
  ['12345678901234567890'],
])('the partition key value %j is read back as it is shown', (value) => {
  expect(partitionKeyValue(shownPartitionKey([value]))).toEqual([value])
  expect(partitionKeyValue(shownPartitionKey([value, 'x']))).toEqual([value, 'x'])
})
