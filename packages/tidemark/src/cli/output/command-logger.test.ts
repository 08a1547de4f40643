import { PassThrough, Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { chosenLogger, commandLogger, type LogFlags } from './command-logger.ts'

const FIELDS = { event: 'leaseLost', host: 'worker-1', group: 'mirror', range: '-FF' }

/** What a logger of these flags writes of one line of each level. */
async function written(flags: LogFlags): Promise<readonly string[]> {
  const errors = new PassThrough()
  const context = {
    input: Readable.from([]),
    output: new PassThrough(),
    errors,
    interactive: false,
  }
  const logger = await commandLogger(flags, context)
  logger.debug(FIELDS, 'details')
  logger.info(FIELDS, 'news')
  logger.warn(FIELDS, 'lost lease -FF')
  logger.error(FIELDS, 'trouble')
  return String(errors.read() ?? '')
    .split('\n')
    .filter((line) => line !== '')
}

test('lines of text from the level on', async () => {
  expect(await written({})).toEqual([
    'tidemark: host worker-1, group mirror: news',
    'tidemark: host worker-1, group mirror: lost lease -FF',
    'tidemark: host worker-1, group mirror: trouble',
  ])
  expect(await written({ logLevel: 'error' })).toHaveLength(1)
  expect(await written({ logLevel: 'debug' })).toHaveLength(4)
  expect(await written({ logLevel: 'silent' })).toEqual([])
})

test('JSON lines of pino, with the fields', async () => {
  const lines = await written({ logJson: true, logLevel: 'warn' })
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    expect.objectContaining({ level: 40, msg: 'lost lease -FF', ...FIELDS }),
    expect.objectContaining({ level: 50, msg: 'trouble' }),
  ])
  expect(await written({ logJson: true, logLevel: 'silent' })).toEqual([])
})

test('without a flag a job has the logger of its own', async () => {
  const stream = new PassThrough()
  const context = { input: Readable.from([]), output: stream, errors: stream, interactive: false }
  expect(await chosenLogger({}, context)).toBeUndefined()
  expect(await chosenLogger({ logJson: true }, context)).toBeDefined()
})
