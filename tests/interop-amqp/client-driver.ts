import {
  ServiceBusClient,
  type DeadLetterOptions,
  type ServiceBusMessageBatch,
  type ServiceBusReceivedMessage,
  type ServiceBusReceiver,
  type ServiceBusSessionReceiver,
  type SqlRuleFilter,
} from '@azure/service-bus'
import type { Message, MessageBroker, ReceivedMessage } from '@tidemark/messaging'
import { startAmqpServer } from '@tidemark/messaging-amqp'
import type {
  ConnectedClient,
  MessagingClient,
  MessagingDriver,
  TestedBatch,
  TestedReceiver,
  TestedRule,
  TestedSender,
  TestedSession,
} from '@tidemark/testing/conformance'
import Long from 'long'
import { expect } from 'vitest'
import { numberOf } from './client-entity.ts'
import { codedErrors } from './coded-errors.ts'
import { POLICIES, ROOT, tokenUntil } from './credentials.ts'

/** Only ends what hangs: the broker's time passes when a case says so. */
const PATIENCE_MS = 60_000
const YEARS_MS = 20 * 365 * 86_400_000
/** The client requires a filter. */
const EVERYTHING = { sqlExpression: '1 = 1' }
/** The client renews by the machine's clock, which does not go with the broker's. */
const UNRENEWED = { maxAutoLockRenewalDurationInMs: 0 }

/** The unmodified client of Microsoft, and a front of the broker in this process. */
export const azureServiceBus: MessagingDriver = {
  name: '@azure/service-bus over AMQP',
  // A call is a dozen frames there and back, and each takes two turns or three.
  turns: 60,
  connect,
}

/** The client reads them at each call. */
interface Patience {
  readonly maxRetries: number
  timeoutInMs: number
}

async function connect(broker: MessageBroker): Promise<ConnectedClient> {
  const failures: unknown[] = []
  const onFailure = (failure: unknown): void => void failures.push(failure)
  const front = await startAmqpServer({ broker, policies: POLICIES, port: 0, onFailure })
  const patience = { maxRetries: 0, timeoutInMs: PATIENCE_MS }
  // Hours pass in some cases, and tokens that the client makes last for one.
  const token = tokenUntil(ROOT, Date.now() + YEARS_MS)
  const client = new ServiceBusClient(
    `Endpoint=sb://localhost:${front.port};SharedAccessSignature=${token};UseDevelopmentEmulator=true;`,
    { retryOptions: patience },
  )
  // Time that a case lets pass must not meet half a handshake, which has an end by the broker's clock.
  await expect(client.createReceiver('nowhere').peekMessages(1)).rejects.toThrow('nowhere')
  return {
    client: clientOf(client, patience),
    async [Symbol.asyncDispose]() {
      await client.close()
      await front.stop()
      expect(failures).toEqual([])
    },
  }
}

function clientOf(client: ServiceBusClient, patience: Patience): MessagingClient {
  return codedErrors<MessagingClient>({
    createSender: (queueOrTopic) => senderOf(client, queueOrTopic),
    createReceiver: (name, options = {}) => {
      const unrenewed = given({ ...UNRENEWED, ...options })
      return receiverOf(
        typeof name === 'string'
          ? client.createReceiver(name, unrenewed)
          : client.createReceiver(name.topic, name.subscription, unrenewed),
      )
    },
    acceptSession: async (name, sessionId, options = {}) =>
      sessionOf(
        typeof name === 'string'
          ? await client.acceptSession(name, sessionId, given({ ...UNRENEWED, ...options }))
          : await client.acceptSession(
              name.topic,
              name.subscription,
              sessionId,
              given({ ...UNRENEWED, ...options }),
            ),
      ),
    acceptNextSession: async (name, { maxWaitTimeInMs = PATIENCE_MS } = {}) => {
      // The client has one time limit for everything. Here it only says it to the server, in the attach.
      patience.timeoutInMs = maxWaitTimeInMs
      const accepting =
        typeof name === 'string'
          ? client.acceptNextSession(name, UNRENEWED)
          : client.acceptNextSession(name.topic, name.subscription, UNRENEWED)
      patience.timeoutInMs = PATIENCE_MS
      return sessionOf(await accepting)
    },
    createRule: (name, { name: rule, filter = EVERYTHING, action }) => {
      const rules = client.createRuleManager(name.topic, name.subscription)
      return rules.createRule(rule, filter as SqlRuleFilter, action)
    },
    deleteRule: (name, rule) =>
      client.createRuleManager(name.topic, name.subscription).deleteRule(rule),
    listRules: async (name) => {
      const rules: TestedRule[] = []
      const manager = client.createRuleManager(name.topic, name.subscription)
      for await (const rule of manager.listRules()) rules.push(rule)
      return rules
    },
  })
}

/** Options without those that are undefined, which the client's types do not allow. */
type Given<Options> = { [Key in keyof Options]: Exclude<Options[Key], undefined> }
function given<Options extends object>(options: Options | undefined): Given<Options> {
  const entries = Object.entries(options ?? {}).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as Given<Options>
}

function senderOf(client: ServiceBusClient, queueOrTopic: string): TestedSender {
  const sender = client.createSender(queueOrTopic)
  return codedErrors<TestedSender>({
    sendMessages: (sent) => {
      if ('tryAddMessage' in sent) return sender.sendMessages(sent as ServiceBusMessageBatch)
      const [first, ...others] = [sent as Message | readonly Message[]].flat().map(given)
      // One alone is a transfer of its own, and no batch.
      return sender.sendMessages(first && others.length > 0 ? [first, ...others] : (first ?? []))
    },
    createMessageBatch: () => sender.createMessageBatch() as Promise<TestedBatch>,
    scheduleMessages: async (messages, at) => {
      const numbers = await sender.scheduleMessages([messages].flat().map(given), at)
      return numbers.map(Number)
    },
    cancelScheduledMessages: (numbers) => sender.cancelScheduledMessages(longs(numbers)),
  })
}

const longs = (numbers: number | readonly number[]): Long[] =>
  [numbers].flat().map((number) => Long.fromNumber(number))

/** What the client gave for a message that a case has in hand. */
const ORIGINALS = new WeakMap<object, ServiceBusReceivedMessage>()

/** As the broker's own receiver shows it: only numbers and the types of bodies differ. */
function messageOf(original: ServiceBusReceivedMessage): ReceivedMessage {
  const message = {
    ...original,
    sequenceNumber: Number(numberOf(original)),
    // A renewal changes it.
    get lockedUntilUtc() {
      return original.lockedUntilUtc
    },
  } as unknown as ReceivedMessage
  ORIGINALS.set(message, original)
  return message
}

function originalOf(message: object): ServiceBusReceivedMessage {
  const original = ORIGINALS.get(message)
  if (original === undefined) throw new Error('the client has not received this message')
  return original
}

function receiverOf(receiver: ServiceBusReceiver): TestedReceiver {
  return codedErrors(callsOf(receiver))
}

function callsOf(receiver: ServiceBusReceiver): TestedReceiver {
  return {
    get isClosed() {
      return receiver.isClosed
    },
    receiveMessages: async (max, options) => {
      const { signal: abortSignal, maxWaitTimeInMs } = { ...options }
      const received = receiver.receiveMessages(max, given({ maxWaitTimeInMs, abortSignal }))
      // The client has an error of its own for it.
      const messages = await received.catch((error: unknown) => {
        abortSignal?.throwIfAborted()
        throw error
      })
      return messages.map(messageOf)
    },
    receiveDeferredMessages: async (numbers) =>
      (await receiver.receiveDeferredMessages(longs(numbers))).map(messageOf),
    peekMessages: async (max, options) => {
      const fromSequenceNumber = options?.fromSequenceNumber
      const [from] = fromSequenceNumber === undefined ? [] : longs(fromSequenceNumber)
      return (await receiver.peekMessages(max, given({ fromSequenceNumber: from }))).map(messageOf)
    },
    completeMessage: (message) => receiver.completeMessage(originalOf(message)),
    abandonMessage: (message, properties) =>
      receiver.abandonMessage(originalOf(message), asClientGives(properties)),
    deferMessage: (message, properties) =>
      receiver.deferMessage(originalOf(message), asClientGives(properties)),
    deadLetterMessage: (message, options) => {
      const { propertiesToModify, ...reasons } = { ...options }
      return receiver.deadLetterMessage(originalOf(message), {
        ...asClientGives(propertiesToModify),
        ...(reasons as DeadLetterOptions),
      })
    },
    renewMessageLock: (message) => receiver.renewMessageLock(originalOf(message)),
    subscribe: (handlers, options) =>
      receiver.subscribe(
        {
          processMessage: (message) => handlers.processMessage(messageOf(message)),
          processError: async ({ error, entityPath, errorSource }) =>
            handlers.processError({ error, entityPath, errorSource: SOURCES[errorSource] }),
        },
        given(options),
      ),
    close: () => receiver.close(),
    [Symbol.asyncDispose]: () => receiver.close(),
  }
}

function sessionOf(session: ServiceBusSessionReceiver): TestedSession {
  return codedErrors<TestedSession>({
    ...callsOf(session),
    get sessionId() {
      return session.sessionId
    },
    get sessionLockedUntilUtc() {
      return session.sessionLockedUntilUtc
    },
    renewSessionLock: () => session.renewSessionLock(),
    getSessionState: async () => {
      const state: unknown = await session.getSessionState()
      return state === null ? undefined : Uint8Array.from(state as Uint8Array)
    },
    setSessionState: (state) =>
      session.setSessionState(state === undefined ? null : Buffer.from(state)),
  })
}

/** The broker's word for what the client was at when it failed. */
const SOURCES = {
  abandon: 'settle',
  complete: 'settle',
  processMessageCallback: 'processMessage',
  receive: 'receive',
  renewLock: 'renewLock',
} as const

/** Properties that the broker takes: the client's types know fewer, and it sends more. */
function asClientGives(properties: object | undefined): Record<string, string> | undefined {
  return properties as Record<string, string> | undefined
}
