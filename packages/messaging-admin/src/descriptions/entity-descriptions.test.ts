import { MAX_DURATION, type QueueOptions, type QueueProperties } from '@tidemark/messaging'
import { expect, test } from 'vitest'
import { element } from '../atom/xml-element.ts'
import { queueDescription } from './entity-descriptions.ts'
import { QUEUE_READERS, SUBSCRIPTION_READERS, TOPIC_READERS } from './entity-readers.ts'
import { readProperties } from './read-properties.ts'

// What is ours alone has no element.
const OPTIONS: Required<Omit<QueueOptions, 'expires'>> = {
  defaultMessageTimeToLive: 'PT1H',
  autoDeleteOnIdle: 'PT6M',
  maxSizeInMegabytes: 2,
  maxMessageSizeInKilobytes: 3,
  status: 'SendDisabled',
  userMetadata: ' mine ',
  lockDuration: 'PT7S',
  maxDeliveryCount: 8,
  deadLetteringOnMessageExpiration: true,
  requiresSession: false,
  forwardTo: 'a/b',
  forwardDeadLetteredMessagesTo: 'c',
  requiresDuplicateDetection: true,
  duplicateDetectionHistoryTimeWindow: 'PT30S',
}

const SHOWN_WITH = { origin: 'http://localhost:5300', shown: undefined, runtime: undefined }

test('a description is read as it was written: every option of a queue', () => {
  const queue = { name: 'orders', ...OPTIONS } as unknown as QueueProperties
  const description = queueDescription(queue, SHOWN_WITH)
  expect(readProperties(description, QUEUE_READERS)).toEqual(OPTIONS)
})

test('never is the longest duration, and what there is none of has no element', () => {
  const queue = {
    name: 'orders',
    ...OPTIONS,
    autoDeleteOnIdle: undefined,
    defaultMessageTimeToLive: undefined,
    forwardTo: undefined,
    userMetadata: '',
  } as unknown as QueueProperties
  const description = queueDescription(queue, SHOWN_WITH)
  const options = readProperties(description, QUEUE_READERS)
  expect(options).toMatchObject({
    autoDeleteOnIdle: MAX_DURATION,
    defaultMessageTimeToLive: MAX_DURATION,
  })
  expect(Object.keys(options)).not.toContain('forwardTo')
  expect(Object.keys(options)).not.toContain('userMetadata')
})

test.each([
  ['1', true],
  ['TRUE', true],
  [' false ', false],
  ['0', false],
])('the flag %j is %s', (text, value) => {
  const description = element('QueueDescription', [element('RequiresSession', text)])
  expect(readProperties(description, QUEUE_READERS)).toEqual({ requiresSession: value })
})

test('an element that is nil is not there', () => {
  const nil = element('ForwardTo', '', { nil: 'true' })
  expect(readProperties(element('QueueDescription', [nil]), QUEUE_READERS)).toEqual({})
})

test.each([
  ['sb://localhost:5300/eu/orders', 'eu/orders'],
  ['HTTPS://ns.example/orders/?a=b#c', 'orders'],
  ['sb://localhost/a%2Fb', 'a/b'],
  ['orders', 'orders'],
  ['', ''],
])('forwarding to %j is to %j', (text, path) => {
  const description = element('QueueDescription', [element('ForwardTo', text)])
  expect(readProperties(description, QUEUE_READERS)).toEqual({ forwardTo: path })
})

test.each([
  ['EnablePartitioning', 'true'],
  ['IsAnonymousAccessible', 'true'],
  ['ForwardTo', 'sb://localhost'],
  ['ForwardTo', 'sb://localhost/%zz'],
  ['ForwardTo', `sb://localhost/a?${'x'.repeat(2048)}`],
  ['MaxDeliveryCount', '1e3'],
  ['MaxDeliveryCount', ''],
  ['Status', 'active'],
  ['RequiresSession', ''],
  ['SubscriptionName', 'a'],
  ['toString', 'a'],
])('%s cannot be %j', (name, text) => {
  const description = element('QueueDescription', [element(name, text)])
  expect(() => readProperties(description, QUEUE_READERS)).toThrow(
    expect.objectContaining({
      code: 'ERR_INVALID_REQUEST',
      message: expect.stringContaining(name),
    }),
  )
})

test.each(['EnableSubscriptionPartitioning', 'FilteringMessagesBeforePublishing'])(
  'a topic does not have %s',
  (name) => {
    const description = element('TopicDescription', [element(name, 'true')])
    expect(() => readProperties(description, TOPIC_READERS)).toThrow(/cannot be true/)
  },
)

test('the default rule of a subscription is its only one', () => {
  const rule = element('DefaultRuleDescription', [
    element('Filter', [element('SqlExpression', 'a = 1')], { type: 'SqlFilter' }),
    element('Action', '', { type: 'EmptyRuleAction' }),
    element('Name', 'mine'),
  ])
  const description = element('SubscriptionDescription', [rule])
  expect(readProperties(description, SUBSCRIPTION_READERS)).toEqual({
    rules: [{ name: 'mine', filter: { sqlExpression: 'a = 1' }, action: undefined }],
  })
})
