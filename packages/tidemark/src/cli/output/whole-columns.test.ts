import { PassThrough, Readable } from 'node:stream'
import { lsn } from '@tidemark/contracts'
import { expect, test } from 'vitest'
import { writeMoves } from './moved-leases.ts'
import { ttlText } from './ttl-text.ts'

const MIN = `1F${'A'.repeat(29)}1`
const MAX = `1F${'A'.repeat(29)}2`

test('leases that moved are named whole, as --range takes them', async () => {
  const output = new PassThrough()
  const streams = { input: Readable.from([]), output, errors: new PassThrough() }
  const range = { minInclusive: MIN, maxExclusive: MAX }
  const move = { leaseId: `${MIN}-${MAX}`, range, fromLsn: lsn(1), toLsn: lsn(2) }
  await writeMoves({ ...streams, interactive: false }, [move], {})
  expect(String(output.read())).toContain(`\n${MIN}-${MAX}         1       2  skips\n`)
})

test('keys of horizons and of groups that are waited for are whole', () => {
  const position = { range: `${MIN}-${MAX}`, lsn: 7 }
  const text = ttlText({
    nowMs: 0,
    defaultTtl: null,
    retentionSeconds: 60,
    expiring: [],
    withExpiry: 0,
    unswept: 0,
    pendingDeletes: 0,
    nextExpiryMs: undefined,
    isReindexing: false,
    horizons: [position],
    waitFor: [{ group: 'mirror', positions: [position] }],
  })
  expect(text.split('\n').filter((line) => line.includes(` ${MIN}  `))).toHaveLength(2)
})
