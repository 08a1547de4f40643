import { InvalidOptionError } from '@tidemark/contracts'
import { expect, test } from 'vitest'
import { readConfig, type ConfigContents } from './config-json.ts'
import { ConfigReader } from './config-reader.ts'

function read(config: unknown): ConfigContents {
  const reader = new ConfigReader()
  const contents = readConfig(config, reader)
  reader.finish()
  return contents
}

function problemsOf(config: unknown): readonly string[] {
  const reader = new ConfigReader()
  readConfig(config, reader)
  try {
    reader.finish()
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidOptionError)
    const [head, ...lines] = String(error).split(/;?\n {2}/)
    expect(head).toBe(
      'InvalidOptionError: the configuration cannot be applied, and nothing was created:',
    )
    return lines
  }
  return []
}

function withNamespace(namespace: unknown): unknown {
  return { UserConfig: { Namespaces: [namespace] } }
}

function withQueue(properties: unknown): unknown {
  return withNamespace({ Name: 'n', Queues: [{ Name: 'q', Properties: properties }] })
}

function withRule(rule: unknown): unknown {
  const subscription = { Name: 's', Rules: [rule] }
  return withNamespace({ Topics: [{ Name: 't', Subscriptions: [subscription] }] })
}

/** As the official emulator has it. */
const EMULATOR = {
  UserConfig: {
    Namespaces: [
      {
        Name: 'sbemulatorns',
        Queues: [
          {
            Name: 'queue.1',
            Properties: {
              DeadLetteringOnMessageExpiration: false,
              DefaultMessageTimeToLive: 'PT1H',
              DuplicateDetectionHistoryTimeWindow: 'PT20S',
              ForwardDeadLetteredMessagesTo: '',
              ForwardTo: '',
              LockDuration: 'PT1M',
              MaxDeliveryCount: 3,
              RequiresDuplicateDetection: false,
              RequiresSession: false,
            },
          },
        ],
        Topics: [
          {
            Name: 'topic.1',
            Properties: {
              DefaultMessageTimeToLive: 'PT1H',
              DuplicateDetectionHistoryTimeWindow: 'PT20S',
              RequiresDuplicateDetection: false,
            },
            Subscriptions: [
              {
                Name: 'subscription.1',
                Properties: {
                  DeadLetteringOnMessageExpiration: false,
                  DefaultMessageTimeToLive: 'PT1H',
                  LockDuration: 'PT1M',
                  MaxDeliveryCount: 3,
                  ForwardDeadLetteredMessagesTo: '',
                  ForwardTo: '',
                  RequiresSession: false,
                },
                Rules: [
                  {
                    Name: 'app-prop-filter-1',
                    Properties: {
                      FilterType: 'Correlation',
                      CorrelationFilter: {
                        ContentType: 'application/text',
                        CorrelationId: 'id1',
                        Label: 'subject1',
                        MessageId: 'msgid1',
                        ReplyTo: 'someQueue',
                        ReplyToSessionId: 'sessionId',
                        SessionId: 'session1',
                        To: 'xyz',
                      },
                    },
                  },
                  {
                    Name: 'user-prop-filter-1',
                    Properties: {
                      FilterType: 'Correlation',
                      CorrelationFilter: { Properties: { prop1: 'value1' } },
                    },
                  },
                ],
              },
              {
                Name: 'subscription.2',
                Rules: [
                  {
                    Name: 'sql',
                    Properties: {
                      FilterType: 'Sql',
                      SqlFilter: {
                        SqlExpression: "sys.MessageId = '123456' AND userProp1 = 'value1'",
                      },
                      Action: { SqlExpression: "SET sys.To = 'Entity'" },
                    },
                  },
                ],
              },
              { Name: 'subscription.3' },
            ],
          },
        ],
      },
    ],
    Logging: { Type: 'File' },
  },
}

test("the official emulator's file is read as it is", () => {
  const { namespace, entities } = read(EMULATOR)
  expect(namespace).toEqual({ limits: {} })
  expect(entities.map(({ kind, path, topic, at }) => [kind, path, topic, at])).toEqual([
    ['queue', 'queue.1', undefined, 'UserConfig.Namespaces[0].Queues[0]'],
    ['topic', 'topic.1', undefined, 'UserConfig.Namespaces[0].Topics[0]'],
    [
      'subscription',
      'topic.1/Subscriptions/subscription.1',
      'topic.1',
      'UserConfig.Namespaces[0].Topics[0].Subscriptions[0]',
    ],
    [
      'subscription',
      'topic.1/Subscriptions/subscription.2',
      'topic.1',
      'UserConfig.Namespaces[0].Topics[0].Subscriptions[1]',
    ],
    [
      'subscription',
      'topic.1/Subscriptions/subscription.3',
      'topic.1',
      'UserConfig.Namespaces[0].Topics[0].Subscriptions[2]',
    ],
  ])
  expect(entities[0]?.options).toEqual({
    deadLetteringOnMessageExpiration: false,
    defaultMessageTimeToLive: 'PT1H',
    duplicateDetectionHistoryTimeWindow: 'PT20S',
    forwardDeadLetteredMessagesTo: '',
    forwardTo: '',
    lockDuration: 'PT1M',
    maxDeliveryCount: 3,
    requiresDuplicateDetection: false,
    requiresSession: false,
  })
  expect(entities[2]?.rules).toEqual([
    {
      name: 'app-prop-filter-1',
      filter: {
        contentType: 'application/text',
        correlationId: 'id1',
        subject: 'subject1',
        messageId: 'msgid1',
        replyTo: 'someQueue',
        replyToSessionId: 'sessionId',
        sessionId: 'session1',
        to: 'xyz',
      },
    },
    { name: 'user-prop-filter-1', filter: { applicationProperties: { prop1: 'value1' } } },
  ])
  expect(entities[3]?.rules).toEqual([
    {
      name: 'sql',
      filter: { sqlExpression: "sys.MessageId = '123456' AND userProp1 = 'value1'" },
      action: { sqlExpression: "SET sys.To = 'Entity'" },
    },
  ])
  expect(entities[4]?.rules).toBeUndefined()
})

test('what this broker adds to the file is read', () => {
  const { namespace, entities } = read({
    UserConfig: {
      Limits: { MinLockDuration: 'PT0.1S', MinAutoDeleteOnIdle: 200 },
      Namespaces: [
        {
          Tier: 'Premium',
          ResourceLock: 'CanNotDelete',
          Queues: [
            {
              Name: 'q',
              Properties: {
                AutoDeleteOnIdle: 'PT5M',
                MaxSizeInMegabytes: 1,
                MaxMessageSizeInKilobytes: 2,
                Status: 'Disabled',
                UserMetadata: 'mine',
                ForwardTo: null,
              },
            },
          ],
          Topics: [
            {
              Name: 't',
              Subscriptions: [
                { Name: 's', Properties: { DeadLetteringOnFilterEvaluationExceptions: true } },
              ],
            },
          ],
        },
      ],
    },
  })
  expect(namespace).toEqual({
    tier: 'Premium',
    resourceLock: 'CanNotDelete',
    limits: { minLockDuration: 'PT0.1S', minAutoDeleteOnIdle: 200 },
  })
  expect(entities[0]?.options).toEqual({
    autoDeleteOnIdle: 'PT5M',
    maxSizeInMegabytes: 1,
    maxMessageSizeInKilobytes: 2,
    status: 'Disabled',
    userMetadata: 'mine',
  })
  expect(entities[2]?.options).toEqual({ deadLetteringOnFilterEvaluationExceptions: true })
})

test('a namespace may be empty', () => {
  expect(read(withNamespace({ Name: 'n' })).entities).toEqual([])
})

const QUEUE = 'UserConfig.Namespaces[0].Queues[0]'
const RULE = 'UserConfig.Namespaces[0].Topics[0].Subscriptions[0].Rules[0]'

const PROBLEMS: readonly (readonly [string, unknown, readonly string[]])[] = [
  ['no object', 5, ['the configuration: must be an object, got 5']],
  ['a list', [], ['the configuration: must be an object, got an object (Array)']],
  ['nothing in it', {}, ['UserConfig: is missing']],
  [
    'an unknown key',
    { UserConfig: { Namespaces: [{}] }, Userconfig: {} },
    ['Userconfig: there is no option Userconfig; did you mean UserConfig?'],
  ],
  ['no namespaces', { UserConfig: {} }, ['UserConfig.Namespaces: is missing']],
  [
    'two namespaces',
    { UserConfig: { Namespaces: [{}, {}] } },
    ['UserConfig.Namespaces: must have one namespace, got 2'],
  ],
  [
    'a tier that there is not',
    withNamespace({ Tier: 'Gold' }),
    ['UserConfig.Namespaces[0].Tier: must be "Basic" or "Standard" or "Premium", got "Gold"'],
  ],
  [
    'a limit above the default',
    {
      UserConfig: {
        Namespaces: [{}],
        Limits: { MinLockDuration: 'PT6S', MinAutoDeleteOnIdle: 'x' },
      },
    },
    [
      'UserConfig.Limits.MinAutoDeleteOnIdle: must be a duration of ISO 8601, such as "PT1M30S", got "x"',
      'UserConfig.Limits.MinLockDuration: must be PT0.001S to PT5S, got "PT6S"',
    ],
  ],
  [
    'a queue that is no object',
    withNamespace({ Queues: ['q'] }),
    [`${QUEUE}: must be an object, got "q"`],
  ],
  ['a queue without a name', withNamespace({ Queues: [{}] }), [`${QUEUE}.Name: is missing`]],
  [
    'queues that are no list',
    withNamespace({ Queues: {} }),
    ['UserConfig.Namespaces[0].Queues: must be a list, got an object (Object)'],
  ],
  [
    'a misspelt key',
    withQueue({ LockDuraton: 'PT1M' }),
    [`${QUEUE}.Properties.LockDuraton: there is no option LockDuraton; did you mean LockDuration?`],
  ],
  [
    'types that do not fit',
    withQueue({ LockDuration: true, MaxDeliveryCount: '3', RequiresSession: 'yes', Status: 'On' }),
    [
      `${QUEUE}.Properties.LockDuration: must be a duration, such as "PT1M30S", got true`,
      `${QUEUE}.Properties.MaxDeliveryCount: must be a number, got "3"`,
      `${QUEUE}.Properties.RequiresSession: must be true or false, got "yes"`,
      `${QUEUE}.Properties.Status: must be "Active" or "Disabled" or "SendDisabled" or "ReceiveDisabled", got "On"`,
    ],
  ],
  [
    'a rule with two filters',
    withRule({
      Name: 'r',
      Properties: { FilterType: 'Sql', SqlFilter: { SqlExpression: '1=1' }, CorrelationFilter: {} },
    }),
    [`${RULE}.Properties.CorrelationFilter: cannot stand beside FilterType "Sql"`],
  ],
  [
    'a rule without its filter',
    withRule({ Name: 'r', Properties: { FilterType: 'Correlation' } }),
    [`${RULE}.Properties.CorrelationFilter: is missing`],
  ],
  [
    'an SQL filter without expression',
    withRule({ Name: 'r', Properties: { SqlFilter: {} } }),
    [`${RULE}.Properties.SqlFilter.SqlExpression: is missing`],
  ],
  [
    'a correlation filter with what cannot be compared',
    withRule({
      Name: 'r',
      Properties: { CorrelationFilter: { Label: 5, Subjekt: 'x', Properties: { a: [], b: 1 } } },
    }),
    [
      `${RULE}.Properties.CorrelationFilter.Label: must be a text, got 5`,
      `${RULE}.Properties.CorrelationFilter.Subjekt: there is no option Subjekt`,
      `${RULE}.Properties.CorrelationFilter.Properties.a: must be a text, a number, true or false, got an object (Array)`,
    ],
  ],
]

test.each(PROBLEMS)('%s is a problem with its path', (_what, config, problems) => {
  expect(problemsOf(config)).toEqual(problems)
})

test('all problems of a file are told at once', () => {
  const config = withNamespace({
    Tier: 'Gold',
    Queues: [{ Name: 5 }, { Name: 'b', Properties: { LockDuration: false } }],
    Topics: [{ Name: 't', Subscriptions: [{ Properties: 1 }] }],
  })
  expect(problemsOf(config)).toEqual([
    'UserConfig.Namespaces[0].Tier: must be "Basic" or "Standard" or "Premium", got "Gold"',
    `${QUEUE}.Name: must be a text, got 5`,
    'UserConfig.Namespaces[0].Queues[1].Properties.LockDuration: must be a duration, such as "PT1M30S", got false',
    'UserConfig.Namespaces[0].Topics[0].Subscriptions[0].Properties: must be an object, got 1',
    'UserConfig.Namespaces[0].Topics[0].Subscriptions[0].Name: is missing',
  ])
})
