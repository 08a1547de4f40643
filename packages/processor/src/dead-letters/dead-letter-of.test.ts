import { describe, expect, test } from 'vitest'
import {
  FULL_RANGE,
  HorizonPassedError,
  lsn,
  type Change,
  type DocumentBody,
  type Stored,
} from '@tidemark/contracts'
import { deadLetterOf, type FailedChange } from './dead-letter-of.ts'
import { recordedError } from './recorded-error.ts'

function stored(id: string, etag = '"1"'): Stored<DocumentBody> {
  return { id, _rid: 'r', _self: 's', _etag: etag, _ts: 1, _lsn: 7 }
}

function change(id = 'o1', at = 7): Change {
  return {
    kind: 'document',
    id,
    partitionKey: 'c1',
    lsn: lsn(at),
    committedAtMs: 0,
    document: stored(id),
  }
}

function failed(over: Partial<FailedChange<DocumentBody>> = {}): FailedChange<DocumentBody> {
  const range = FULL_RANGE
  const when = { attempts: 3, hostName: 'a', failedAtMs: 1_000 }
  const error = new Error('poison')
  return { group: 'g', feed: 'f', range, change: change(), error, ...when, ...over }
}

describe('PH-7 a dead letter', () => {
  test('holds the whole change, its error, attempts, range and LSN', () => {
    const range = { minInclusive: '20', maxExclusive: 'FF', more: true }
    expect(deadLetterOf(failed({ range }))).toMatchObject({
      group: 'g',
      feed: 'f',
      range: { minInclusive: '20', maxExclusive: 'FF' },
      lsn: 7,
      change: change(),
      error: { name: 'Error', message: 'poison' },
      attempts: 3,
      hostName: 'a',
      failedAtMs: 1_000,
    })
    expect(deadLetterOf(failed({ range })).range).not.toHaveProperty('more')
  })

  test('has the same id whoever finds it, however often', () => {
    const first = deadLetterOf(failed())
    const again = deadLetterOf(
      failed({
        range: { minInclusive: '', maxExclusive: '20' },
        error: 'other',
        attempts: 9,
        hostName: 'b',
        failedAtMs: 2_000,
      }),
    )
    expect(again.id).toBe(first.id)
    expect(first.id).toMatch(/^[0-9]{16}-[0-9a-f]{32}$/)
  })

  test('has another id than every other change, whatever its group, feed, LSN, key, id and kind', () => {
    const version = {
      kind: 'version',
      id: 'o1',
      partitionKey: 'c1',
      lsn: lsn(7),
      committedAtMs: 0,
      crts: 1,
      timeToLiveExpired: false,
    } as const
    const all: readonly FailedChange<DocumentBody>[] = [
      failed(),
      failed({ group: 'g2' }),
      failed({ feed: 'f2' }),
      failed({ change: change('o2') }),
      failed({ change: change('o1', 8) }),
      ...(['c2', 1, null, undefined, ['c1', 'x']] as const).map((partitionKey) =>
        failed({ change: { ...change(), partitionKey } }),
      ),
      failed({
        change: {
          kind: 'pendingDelete',
          id: 'o1',
          partitionKey: 'c1',
          lsn: lsn(7),
          committedAtMs: 0,
          lastVersion: stored('o1'),
          expiredAtMs: 1,
        },
      }),
      // Three versions of one document in one transaction.
      failed({ change: { ...version, operationType: 'create', current: stored('o1') } }),
      failed({ change: { ...version, operationType: 'replace', current: stored('o1', '"2"') } }),
      failed({ change: { ...version, operationType: 'replace', current: stored('o1', '"3"') } }),
      failed({ change: { ...version, operationType: 'delete', previous: stored('o1', '"3"') } }),
    ]
    const ids = new Set(all.map((one) => deadLetterOf(one).id))
    expect(ids.size).toBe(all.length)
  })

  test('ids sort as LSNs do', () => {
    const lsns = [9, 10, 11, 100, 2 ** 32, Number.MAX_SAFE_INTEGER]
    const ids = lsns.map((at) => deadLetterOf(failed({ change: change('o1', at) })).id)
    expect([...ids].sort()).toEqual(ids)
  })
})

describe('a recorded error', () => {
  test('of an error has name, message, code, stack, and the causes behind it', () => {
    const cause = new TypeError('no such row', { cause: 'disk' })
    const told = recordedError(
      new HorizonPassedError({ range: FULL_RANGE, lsn: lsn(1), horizon: lsn(2) }, { cause }),
    )
    expect(told).toMatchObject({ name: 'HorizonPassedError', code: 'ERR_HORIZON_PASSED' })
    expect(told.stack).toContain('dead-letter-of.test')
    expect(told.stack).toContain('caused by: TypeError: no such row')
    expect(told.stack).toContain('caused by: string: disk')
  })

  test.each([
    ['text', { name: 'string', message: 'text' }],
    [undefined, { name: 'undefined', message: 'undefined' }],
    [null, { name: 'object', message: 'null' }],
    [Symbol('s'), { name: 'symbol', message: 'Symbol(s)' }],
    [{ reason: 1 }, { name: 'object', message: '{"reason":1}' }],
    [Object.create(null), { name: 'object', message: 'a value that has no text' }],
    [
      { message: 'odd', code: 5 },
      { name: 'object', message: 'odd' },
    ],
  ])('of %o, which is no error', (thrown, expected) => {
    expect(recordedError(thrown)).toEqual(expected)
  })

  test('never throws, and ends, whatever its properties do', () => {
    const hostile = new Proxy(
      {},
      {
        get() {
          throw new Error('no')
        },
      },
    )
    expect(recordedError(hostile).message).toBe('a value that has no text')
    const circular = new Error('circular')
    circular.cause = circular
    expect(recordedError(circular).stack?.length).toBeLessThanOrEqual(8_000)
  })

  test('is cut, and has nothing that a store refuses', () => {
    const told = recordedError(new Error(`\0\uD800${'x'.repeat(1_999)}😀${'x'.repeat(1e6)}`))
    expect(told.message).toHaveLength(2_000)
    expect(told.message.startsWith('\uFFFD\uFFFDx')).toBe(true)
    expect(told.stack?.length).toBeLessThanOrEqual(8_000)
    expect(told.stack?.isWellFormed()).toBe(true)
  })
})
