import { StoreUnavailableError } from '@tidemark/contracts'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ManagedBroker, wire } from './managed-broker.fixture.ts'

const TOKENS = { 'lock-tokens': wire.uuids('00000000-0000-0000-0000-00000000000f') }
const NUMBERS = { 'sequence-numbers': wire.longs(1) }
const PEEK = { 'from-sequence-number': wire.long(1), 'message-count': wire.int(1) }
const PAGE = { skip: wire.int(0), top: wire.int(1) }
const SQL = { 'rule-name': 'r', 'rule-description': { 'sql-filter': { expression: '1=1' } } }

const OPERATIONS: readonly (readonly [string, 'Listen' | 'Send', object])[] = [
  ['peek-message', 'Listen', PEEK],
  ['renew-lock', 'Listen', TOKENS],
  ['update-disposition', 'Listen', { ...TOKENS, 'disposition-status': 'completed' }],
  ['receive-by-sequence-number', 'Listen', { ...NUMBERS, 'receiver-settle-mode': 1 }],
  ['schedule-message', 'Send', { messages: [{ message: Buffer.from('?') }] }],
  ['cancel-scheduled-message', 'Send', NUMBERS],
  ['renew-session-lock', 'Listen', { 'session-id': 'a' }],
  ['get-session-state', 'Listen', { 'session-id': 'a' }],
  ['set-session-state', 'Listen', { 'session-id': 'a', 'session-state': null }],
  ['get-message-sessions', 'Listen', PAGE],
  ['add-rule', 'Listen', SQL],
  ['remove-rule', 'Listen', { 'rule-name': 'r' }],
  ['enumerate-rules', 'Listen', PAGE],
]

const FIELDS = [
  ...new Set(OPERATIONS.flatMap(([, , body]) => Object.keys(body))),
  'message',
  'properties-to-modify',
  'sql-filter',
  'correlation-filter',
  'expression',
  'properties',
  'sql-rule-action',
  '__proto__',
  'constructor',
]

/** Bodies that have names of fields, and anything in them. */
const BODIES = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, true, 0, 1, -1, 0.5, 2 ** 40, 'completed', '1=1', '', 'a'),
    fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
    fc.constantFrom(8, 16).map((bytes) => Buffer.alloc(bytes, 0xff)),
    fc.date({ noInvalidDate: true }),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('body'),
  ),
  body: fc.dictionary(fc.constantFrom(...FIELDS), tie('value'), { maxKeys: 6 }),
})).body

describe('performOperation', () => {
  it('answers whatever a body has in its fields, and never fails itself', async () => {
    await using world = await ManagedBroker.open()
    await world.broker.createTopic('t')
    await world.broker.createSubscription({ topic: 't', subscription: 's' })
    const paths = fc.constantFrom('t', 't/Subscriptions/s', 't/Subscriptions/s/$DeadLetterQueue')
    const operations = fc.constantFrom(...OPERATIONS.map(([operation]) => operation))
    await fc.assert(
      fc.asyncProperty(paths, operations, BODIES, async (path, operation, body) => {
        const { status, condition } = await world.ask(path, operation, body)
        expect(status < 300 || condition !== undefined).toBe(true)
        expect(world.failures).toEqual([])
      }),
      { seed: 16, numRuns: 400 },
    )
  })

  it.each(OPERATIONS)('%s needs the right %s', async (operation, right, body) => {
    await using world = await ManagedBroker.open()
    await world.broker.createQueue('q')
    const others = (['Listen', 'Send'] as const).filter((one) => one !== right)
    world.rights = new Set(others)
    const unauthorized = { status: 401, condition: 'amqp:unauthorized-access' }
    expect(await world.ask('q', operation, body)).toMatchObject(unauthorized)
    world.rights = new Set([right])
    expect(await world.ask('q', operation, body)).not.toMatchObject(unauthorized)
  })

  it.each(OPERATIONS)('%s refuses a body that is no map', async (operation) => {
    await using world = await ManagedBroker.open()
    for (const body of [undefined, 'text', [1], Buffer.from('x'), 5]) {
      expect(await world.ask('q', operation, body)).toMatchObject({
        status: 400,
        condition: 'com.microsoft:argument-error',
        description: expect.stringContaining('the body of the request must be a map'),
      })
    }
  })

  it.each(['delete-messages', 'peek', 'constructor', ''])(
    'answers that it does not offer %j',
    async (operation) => {
      await using world = await ManagedBroker.open()
      expect(await world.ask('q', operation, {})).toMatchObject({
        status: 501,
        condition: 'amqp:not-implemented',
        description: expect.stringContaining(operation),
      })
    },
  )

  it.each([
    [new Error('secret'), 500, 'amqp:internal-error'],
    [new StoreUnavailableError('the store is not there'), 503, 'com.microsoft:server-busy'],
  ])('answers %s with %d', async (error, status, condition) => {
    await using world = await ManagedBroker.open()
    world.failWith = error
    expect(await world.ask('q', 'peek-message', PEEK)).toMatchObject({ status, condition })
  })

  it('reports its own failures, and tells clients nothing of them', async () => {
    await using world = await ManagedBroker.open()
    const error = new Error('secret')
    world.failWith = error
    const { description } = await world.ask('q', 'peek-message', PEEK)
    expect(description).not.toContain('secret')
    expect(world.failures).toEqual([error])
  })

  it('does not report what a client did wrong', async () => {
    await using world = await ManagedBroker.open()
    await world.ask('none', 'peek-message', PEEK)
    await world.ask('none', 'peek-message', {})
    expect(world.failures).toEqual([])
  })
})
