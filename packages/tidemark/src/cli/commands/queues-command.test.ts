import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openMessaging, type MessageBroker } from '@tidemark/messaging'
import { openStore } from '../../open-store.ts'
import { jsonLines, tidemark } from './command-runner.child.ts'

let folder: string
let data: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tidemark-queues-'))
  data = join(folder, 'data')
  await (await openStore({ folder: data, durability: 'relaxed', maintenance: 'manual' })).close()
})
afterEach(async () => {
  await rm(folder, { recursive: true, force: true })
})

const queues = (...args: readonly string[]) => tidemark('queues', ...args, '--store', data)
const topics = (...args: readonly string[]) => tidemark('topics', ...args, '--store', data)

/** The only JSON line of a command that must succeed. */
async function json(command: Promise<{ code: number; output: string; errors: string }>) {
  const { code, output, errors } = await command
  expect({ code, errors }).toEqual({ code: 0, errors: '' })
  const [line = {}] = jsonLines(output)
  return line
}

async function withBroker<Result>(
  act: (broker: MessageBroker) => Promise<Result>,
): Promise<Result> {
  await using store = await openStore({
    folder: data,
    durability: 'relaxed',
    maintenance: 'manual',
  })
  await using broker = openMessaging(store.database('shop'))
  return await act(broker)
}

/** Puts the first messages of a queue aside: one deferred, the others dead. */
async function kill(count: number): Promise<void> {
  await withBroker(async (broker) => {
    await using receiver = broker.createReceiver('orders')
    const received = await receiver.receiveMessages(count, { maxWaitTimeInMs: 0 })
    for (const message of received) {
      await receiver.deadLetterMessage(message, {
        deadLetterReason: 'broken',
        deadLetterErrorDescription: 'it was\nbroken',
      })
    }
  })
}

test('the help of --set and the guide name every option of an entity', async () => {
  await json(queues('create', 'shop/orders', '--json'))
  const shown = await withBroker(async (broker) => {
    await broker.createTopic('news')
    const subscription = await broker.createSubscription({ topic: 'news', subscription: 'all' })
    return { ...(await broker.getQueue('orders')), ...subscription }
  })
  const { name: _, topicName: __, subscriptionName: ___, ...options } = shown
  const { output: help } = await queues('create', '--help')
  const guide = new URL('../../../../../docs/guide/queues.md', import.meta.url)
  const [, table = ''] = (await readFile(guide, 'utf8')).split('## Settings')
  for (const option of Object.keys(options)) {
    expect(help).toMatch(new RegExp(String.raw`\b${option}\b`))
    expect(table).toContain(`\`${option}\``)
  }
})

test('a queue is created, shown, changed and deleted', async () => {
  const set = ['--set', 'lockDuration=PT30S', '--set', 'maxDeliveryCount=3']
  const created = await json(
    queues('create', 'shop/eu/orders', ...set, '--set', 'userMetadata="5"', '--json'),
  )
  expect(created).toMatchObject({
    name: 'eu/orders',
    lockDuration: 'PT30S',
    maxDeliveryCount: 3,
    userMetadata: '5',
  })
  const changed = await json(
    queues('update', 'shop/eu/orders', '--set', 'deadLetteringOnMessageExpiration=true', '--json'),
  )
  expect(changed).toMatchObject({ lockDuration: 'PT30S', deadLetteringOnMessageExpiration: true })
  const shown = await queues('show', 'shop/eu/orders')
  expect(shown.output).toMatch(/^name +eu\/orders$/m)
  expect(shown.output).toMatch(/^lockDuration +PT30S$/m)
  expect(shown.output).toMatch(/^activeMessageCount +0$/m)
  expect(await queues('delete', 'shop/eu/orders', '--yes')).toEqual({
    code: 0,
    output: 'deleted: eu/orders\n',
    errors: '',
  })
  expect((await queues('ls', 'shop')).output).toBe('no queues\n')
})

test('the first queue makes the store; whoever only looks makes none', async () => {
  const fresh = join(folder, 'fresh')
  const looked = await tidemark('queues', 'ls', 'shop', '--store', fresh)
  expect(looked).toMatchObject({ code: 1, output: '' })
  expect(looked.errors).toMatch(/^tidemark: ERR_INPUT: .*no such folder: [^\n]*`tidemark init`\n$/)
  const created = await tidemark('queues', 'create', 'shop/orders', '--store', fresh)
  expect(created).toMatchObject({ code: 0, errors: '' })
  const listed = await tidemark('queues', 'ls', 'shop', '--store', fresh)
  expect(listed.output).toMatch(/^orders +Active/m)
})

test('messages are sent, listed and counted by state', async () => {
  await queues('create', 'shop/orders')
  const sent = await queues(
    'send',
    'shop/orders',
    '{"id":7}',
    '--id',
    'a',
    '--subject',
    'new',
    '--property',
    'n=3',
    '--property',
    'text=x',
  )
  expect(sent).toEqual({ code: 0, output: 'sent: 1\n', errors: '' })
  await queues('send', 'shop/orders', 'plain text', '--ttl', '3600000')
  await queues('send', 'shop/orders', 'later', '--at', '2999-01-01T00:00:00Z')
  await kill(1)
  const listed = await queues('ls', 'shop')
  const [heading, row] = listed.output.split('\n')
  expect(heading).toMatch(
    /^QUEUE +STATUS +ACTIVE +LOCKED +DEFERRED +SCHEDULED +DEAD +EXPIRED +BYTES +OLDEST$/,
  )
  expect(row).toMatch(/^orders +Active +1 +0 +0 +1 +1 +0 +\d+ +\d+s$/)
  expect(await json(queues('ls', 'shop', '--json'))).toMatchObject({
    name: 'orders',
    activeMessageCount: 1,
    scheduledMessageCount: 1,
    deadLetterMessageCount: 1,
    totalMessageCount: 3,
  })
  const peeked = await queues('peek', 'shop/orders', '--json')
  expect(jsonLines(peeked.output)).toMatchObject([
    { body: 'plain text', state: 'active', timeToLive: 3_600_000 },
    { body: 'later', state: 'scheduled' },
  ])
  const table = await queues('peek', 'shop/orders', '--limit', '1')
  expect(table.output).toMatch(
    /^NUMBER +STATE +ID +SESSION +SUBJECT +ENQUEUED +EXPIRES +TRIES +BODY\n/,
  )
  expect(table.output).toContain('plain text\n')
  expect(table.output).not.toContain('later')
  const from = await queues('peek', 'shop/orders', '--from', '3', '--json')
  expect(jsonLines(from.output)).toMatchObject([{ sequenceNumber: 3, body: 'later' }])
  expect((await queues('peek', 'shop/orders', '--from', '4')).output).toBe('no messages\n')
})

test('dead letters are listed, and sent back once each', async () => {
  await queues('create', 'shop/orders', '--set', 'requiresDuplicateDetection=true')
  for (const id of ['a', 'b', 'c']) await queues('send', 'shop/orders', id, '--id', id)
  await kill(3)
  const listed = await queues('dlq', 'ls', 'shop/orders')
  expect(listed.output).toMatch(/ +broken +it was\\nbroken +a\n/)
  const lines = await queues('dlq', 'ls', 'shop/orders', '--json')
  expect(jsonLines(lines.output)).toMatchObject([
    { sequenceNumber: 1, messageId: 'a', deadLetterReason: 'broken' },
    { sequenceNumber: 2, messageId: 'b' },
    { sequenceNumber: 3, messageId: 'c' },
  ])
  expect(await queues('dlq', 'redrive', 'shop/orders', '2')).toEqual({
    code: 0,
    output: 'redriven: 1\n',
    errors: '',
  })
  const partly = await queues('dlq', 'redrive', 'shop/orders', '1', '2', '--json')
  expect(partly.code).toBe(1)
  expect(jsonLines(partly.output)).toEqual([{ redriven: [1], missing: [2] }])
  expect(partly.errors).toBe(
    'tidemark: ERR_MESSAGE_NOT_FOUND: not there, locked, or without room: 2\n',
  )
  expect((await queues('dlq', 'redrive', 'shop/orders', '--all')).output).toBe('redriven: 1\n')
  const back = jsonLines((await queues('peek', 'shop/orders', '--json')).output)
  expect(back.map(({ messageId, deliveryCount }) => [messageId, deliveryCount])).toEqual([
    ['b', 0],
    ['a', 0],
    ['c', 0],
  ])
  expect(back.every((message) => message['deadLetterReason'] === undefined)).toBe(true)
  expect((await queues('dlq', 'ls', 'shop/orders')).output).toBe('no messages\n')
})

test('purge removes what waits, is deferred or scheduled, and leaves what is locked', async () => {
  await queues('create', 'shop/orders')
  for (const body of ['locked', 'deferred', 'waits']) await queues('send', 'shop/orders', body)
  await queues('send', 'shop/orders', 'later', '--at', '2999-01-01T00:00:00Z')
  await withBroker(async (broker) => {
    await using receiver = broker.createReceiver('orders')
    const [, deferred] = await receiver.receiveMessages(2, { maxWaitTimeInMs: 0 })
    await receiver.deferMessage(deferred ?? {})
  })
  const refused = await queues('purge', 'shop/orders')
  expect(refused).toMatchObject({ code: 2, output: '' })
  expect(refused.errors).toContain('--yes')
  expect((await queues('purge', 'shop/orders', '--yes')).output).toBe('purged: 3, left: 1\n')
  const left = await queues('peek', 'shop/orders', '--json')
  expect(jsonLines(left.output)).toMatchObject([{ body: 'locked' }])
})

test('purge also empties sessions and dead-letter queues', async () => {
  await queues('create', 'shop/orders', '--set', 'requiresSession=true')
  for (const session of ['a', 'b']) {
    for (const body of ['1', '2']) await queues('send', 'shop/orders', body, '--session', session)
  }
  await withBroker(async (broker) => {
    await using receiver = await broker.acceptSession('orders', 'a')
    const [first, second] = await receiver.receiveMessages(2, { maxWaitTimeInMs: 0 })
    await receiver.deadLetterMessage(first ?? {})
    await receiver.deferMessage(second ?? {})
  })
  expect((await queues('purge', 'shop/orders', '--yes')).output).toBe('purged: 3, left: 0\n')
  const dead = await queues('purge', 'shop/orders', '--dead-letters', '--yes', '--json')
  expect(jsonLines(dead.output)).toEqual([{ purged: 1, left: 0 }])
})

test('topics, subscriptions and rules are created, shown and deleted', async () => {
  const red = 'shop/news/Subscriptions/red'
  await topics('create', 'shop/news')
  expect(await json(topics('create', red, '--set', 'lockDuration=PT30S', '--json'))).toMatchObject({
    topicName: 'news',
    subscriptionName: 'red',
    lockDuration: 'PT30S',
  })
  const added = await topics('rules', 'add', red, 'reds', '--sql', "colour = 'red'")
  expect(added.output).toMatch(/^RULE +FILTER +ACTION\nreds +colour = 'red' +-\n$/)
  const equal = '{"subject":"urgent"}'
  await topics('rules', 'add', red, 'urgent', '--equal', equal, '--action', "SET sys.To = 'me'")
  expect((await topics('rules', 'rm', red, '$Default')).output).toBe('removed: $Default\n')
  const rules = await topics('rules', 'ls', red, '--json')
  expect(jsonLines(rules.output)).toMatchObject([
    { name: 'reds', filter: { sqlExpression: "colour = 'red'" } },
    {
      name: 'urgent',
      filter: { subject: 'urgent' },
      action: { sqlExpression: "SET sys.To = 'me'" },
    },
  ])
  await queues('send', 'shop/news', 'blue', '--property', 'colour=blue')
  await queues('send', 'shop/news', 'red', '--property', 'colour=red')
  expect(jsonLines((await queues('peek', red, '--json')).output)).toMatchObject([{ body: 'red' }])
  const listed = await topics('ls', 'shop')
  expect(listed.output.split('\n').slice(1)).toEqual([
    expect.stringMatching(/^news +- +Active +- +- +- +0 +- +- +\d+ +-$/),
    expect.stringMatching(/^news +red +Active +1 +0 +0 +0 +0 +0 +\d+ +\d+s$/),
    '',
  ])
  expect((await topics('show', 'shop/news')).output).toMatch(/^subscriptions +red$/m)
  expect((await topics('show', red)).output).toMatch(/^rules +reds, urgent$/m)
  expect(await json(topics('ls', 'shop', '--json'))).toMatchObject({
    name: 'news',
    subscriptions: [{ subscriptionName: 'red', activeMessageCount: 1 }],
  })
  await topics('update', red, '--set', 'maxDeliveryCount=2')
  expect(await json(topics('show', red, '--json'))).toMatchObject({ maxDeliveryCount: 2 })
  expect((await topics('delete', red, '--yes')).output).toBe('deleted: news/Subscriptions/red\n')
  await topics('delete', 'shop/news', '--yes')
  expect((await topics('ls', 'shop')).output).toBe('no topics\n')
})

test('a Config.json is applied as a whole, or not at all', async () => {
  const config = (lockDuration: string) => ({
    UserConfig: {
      Namespaces: [
        {
          Name: 'shop',
          Queues: [{ Name: 'orders', Properties: { LockDuration: lockDuration } }],
          Topics: [{ Name: 'news', Subscriptions: [{ Name: 'all' }] }],
        },
      ],
      Logging: { Type: 'File' },
    },
  })
  const file = join(folder, 'Config.json')
  await writeFile(file, JSON.stringify(config('PT6M')))
  const refused = await queues('apply', 'shop', file)
  expect(refused).toEqual({
    code: 1,
    output: '',
    errors:
      'tidemark: ERR_INVALID_OPTION: the configuration cannot be applied, and nothing was created: ' +
      'UserConfig.Namespaces[0].Queues[0].Properties.LockDuration: must be PT5S to PT5M, got "PT6M"\n',
  })
  expect((await queues('ls', 'shop')).output).toBe('no queues\n')
  await writeFile(file, `\uFEFF${JSON.stringify(config('PT1M'))}`)
  for (let turn = 0; turn < 2; turn++) {
    expect(await queues('apply', 'shop', file)).toEqual({
      code: 0,
      output: `applied: ${file}\n`,
      errors: '',
    })
  }
  expect(await json(topics('ls', 'shop', '--json'))).toMatchObject({
    subscriptions: [{ subscriptionName: 'all' }],
  })
  await writeFile(file, '{')
  expect((await queues('apply', 'shop', file)).errors).toMatch(
    /^tidemark: ERR_INPUT: .*Config\.json is not JSON: /,
  )
})

test('what is wrong has its code and changes nothing', async () => {
  await queues('create', 'shop/orders')
  const failing: readonly (readonly [readonly string[], string])[] = [
    [['show', 'shop/none'], 'ERR_MESSAGING_ENTITY_NOT_FOUND'],
    [['ls', 'nothing'], 'ERR_NOT_FOUND'],
    [['create', 'shop/orders'], 'ERR_MESSAGING_ENTITY_EXISTS'],
    [['create', 'shop/b', '--set', 'lockDuraton=PT1M'], 'ERR_INVALID_OPTION'],
    [['update', 'shop/orders', '--set', 'requiresSession=true'], 'ERR_INVALID_OPTION'],
    [['delete', 'shop/none', '--yes'], 'ERR_MESSAGING_ENTITY_NOT_FOUND'],
    [['peek', 'shop/none'], 'ERR_MESSAGING_ENTITY_NOT_FOUND'],
    [['send', 'shop/none', 'x'], 'ERR_MESSAGING_ENTITY_NOT_FOUND'],
    [['dlq', 'redrive', 'shop/none', '--all'], 'ERR_MESSAGING_ENTITY_NOT_FOUND'],
    [['purge', 'shop/none', '--yes'], 'ERR_MESSAGING_ENTITY_NOT_FOUND'],
    [['apply', 'shop', join(folder, 'none.json')], 'ERR_INPUT'],
  ]
  for (const [args, code] of failing) {
    const ended = await queues(...args)
    expect({ args, ...ended }).toMatchObject({ code: 1, output: '' })
    expect(ended.errors).toMatch(new RegExp(`^tidemark: ${code}: [^\\n]+\\n$`))
  }
  for (const args of [
    ['show', 'orders'],
    ['show', 'shop//orders'],
    ['create', 'shop/news/Subscriptions/all'],
    ['create', 'shop/b', '--set', 'lockDuration'],
    ['delete', 'shop/orders'],
    ['peek', 'shop/orders', '--limit', '0'],
    ['send', 'shop/orders', 'x', '--ttl', '0'],
    ['send', 'shop/orders', 'x', '--at', 'noon'],
    ['dlq', 'redrive', 'shop/orders'],
    ['dlq', 'redrive', 'shop/orders', '1', '--all'],
    ['dlq', 'redrive', 'shop/orders', 'x'],
    ['dlq', 'sl', 'shop/orders'],
  ]) {
    const ended = await queues(...args)
    expect({ args, ...ended }).toMatchObject({ code: 2, output: '' })
    expect(ended.errors).toMatch(/^tidemark: ERR_USAGE: [^\n]+\n$/)
  }
  expect((await queues('peek', 'shop/orders')).output).toBe('no messages\n')
})
