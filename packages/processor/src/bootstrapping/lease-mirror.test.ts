import { expect, test } from 'vitest'
import { lsn, parseFeedRangeId, type Continuation, type Lease } from '@tidemark/contracts'
import { FakeGroupPositions } from '@tidemark/testing'
import { LeaseMirror } from './lease-mirror.ts'

test('TTL-14 where leases stand is told only when it is on disk', async () => {
  const positions = new FakeGroupPositions()
  const mirror = new LeaseMirror({ positions, group: 'g' })
  const checkpoint = { continuation: '' as Continuation, lsn: lsn(7) }
  const lease = { id: '-FF', range: parseFeedRangeId('-FF')!, checkpoint } as Lease
  const cover = (flush: () => Promise<void>): Promise<void> =>
    mirror.cover([lease], { told: [], areNew: false, discardToken: undefined, flush })
  const reports: number[] = []
  await expect(cover(() => Promise.reject(new Error('the disk is away')))).rejects.toThrow('disk')
  expect(positions.reports).toEqual([])
  await cover(async () => void reports.push(positions.reports.length))
  expect(reports).toEqual([0])
  expect(await positions.read('g')).toMatchObject([{ lsn: 7 }])
})
