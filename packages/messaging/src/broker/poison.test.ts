import { InvalidDocumentError } from '@tidemark/contracts'
import { describe, expect, test } from 'vitest'
import { ServiceTimeoutError } from '../errors/service-timeout-error.ts'
import { moveWithPoison } from './poison.ts'

interface Order {
  readonly name: string
  readonly isBuried?: boolean
}

/** What was moved, by a store that refuses these names. */
async function moved(names: readonly string[], refused: readonly string[], error: Error) {
  const moves: string[] = []
  const answer = await moveWithPoison<Order, { readonly kind: string; readonly count: number }>(
    names.map((name) => ({ name })),
    {
      move(orders) {
        if (orders.some(({ name, isBuried }) => refused.includes(name) && isBuried !== true)) {
          return Promise.reject(error)
        }
        moves.push(...orders.map(({ name, isBuried }) => (isBuried === true ? `${name}!` : name)))
        return Promise.resolve({
          kind: orders[0]?.name === 'z' ? 'ended' : 'moved',
          count: orders.length,
        })
      },
      isMoved: ({ kind }) => kind === 'moved',
      join: (one, other) => ({ ...one, count: one.count + other.count }),
      buried: (order, { reason }) => ({ ...order, isBuried: reason === 'MessageNotStored' }),
    },
  )
  return { answer, moves }
}

describe('moveWithPoison', () => {
  const poison = new InvalidDocumentError('NUL')

  test('SET-13 moves all together', async () => {
    expect(await moved(['a', 'b'], [], poison)).toEqual({
      answer: { kind: 'moved', count: 2 },
      moves: ['a', 'b'],
    })
  })

  test('SET-13 SCH-09 buries only what is refused for good', async () => {
    const { answer, moves } = await moved(['a', 'b', 'c'], ['b'], poison)
    expect([answer.count, moves]).toEqual([3, ['a', 'b!', 'c']])
  })

  test('ends at another answer', async () => {
    const { answer, moves } = await moved(['a', 'z', 'b'], ['b'], poison)
    expect([answer.kind, moves]).toEqual(['ended', ['a', 'z']])
  })

  test('buries nothing at an error that passes', async () => {
    const passing = new ServiceTimeoutError('down')
    await expect(moved(['a', 'b'], ['b'], passing)).rejects.toBe(passing)
  })
})
