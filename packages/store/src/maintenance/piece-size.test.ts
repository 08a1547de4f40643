import { expect, test } from 'vitest'
import { firstPieceItems, nextPieceItems } from './piece-size.ts'

const next = (items: number, tookMs: number, maxItems = 1000): number =>
  nextPieceItems(items, { tookMs, pieceMs: 10, maxItems })

test('TTL-5 pieces grow while they are quick, and shrink when they take too long', () => {
  expect([next(100, 2), next(100, 7), next(400, 30)]).toEqual([200, 100, 200])
})

test('TTL-5 pieces have a least and a highest size, whatever they take', () => {
  expect([next(800, 0), next(100, 5000), next(101, 5000)]).toEqual([1000, 100, 100])
  expect([firstPieceItems(1000), firstPieceItems(3)]).toEqual([100, 3])
  expect([next(3, 0, 3), next(3, 5000, 3)]).toEqual([3, 3])
})
