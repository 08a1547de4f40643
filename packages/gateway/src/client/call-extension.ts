import {
  UnsupportedServerError,
  decodeContinuation,
  encodeContinuation,
  lsn,
  type FeedPosition,
  type FeedRange,
} from '@tidemark/contracts'
import { isJsonRecord } from '@tidemark/contracts/internal'
import {
  EXTENSION_OPERATION,
  OWN_HEADER,
  asciiJson,
  type ExtensionCall,
} from '../protocol/extension-wire.ts'
import { HEADER } from '../protocol/header-names.ts'
import type { RemoteContainer } from './remote-container.ts'
import { parsed } from './wire-answer.ts'

/** Where our gateway takes calls of its own. */
const EXTENSION_PATH: readonly string[] = ['operations', EXTENSION_OPERATION]

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
  readonly sessionToken?: string | undefined
  /** Named by errors. */
  readonly range?: FeedRange | undefined
  /** What the gateway may wait on purpose, in ms. */
  readonly waitMs?: number | undefined
}

/** Calls an extension of our gateway; the JSON value that it answers. */
export async function callExtension(
  container: RemoteContainer,
  call: ExtensionCall,
  options?: CallOptions,
): Promise<unknown> {
  return parsed(await callForText(container, call, options))
}

/** Calls an extension of our gateway; the text that it answers. */
export async function callForText(
  container: RemoteContainer,
  call: ExtensionCall,
  { signal, sessionToken, range, waitMs }: CallOptions = {},
): Promise<string> {
  const { body } = await container.send({
    method: 'GET',
    path: EXTENSION_PATH,
    headers: {
      [OWN_HEADER.call]: asciiJson(call),
      ...(sessionToken !== undefined && { [HEADER.sessionToken]: sessionToken }),
    },
    subject: { resource: 'collection', id: container.name.container, effect: 'none', range },
    waitMs,
    signal,
  })
  return body
}

/** Calls what changes something, and what may be sent again when no answer comes. */
export async function callToWrite(
  container: RemoteContainer,
  order: object,
  { signal }: Pick<CallOptions, 'signal'> = {},
): Promise<void> {
  await container.send({
    method: 'POST',
    path: EXTENSION_PATH,
    body: JSON.stringify(order),
    subject: { resource: 'collection', id: container.name.container, effect: 'none' },
    signal,
  })
}

/**
 * Waits for up to `timeoutMs`, in calls that are each as long as the gateway allows; what it answers in the end, as text:
 * `false` when nothing came.
 *
 * `restMs`: pause after an answer that came too soon, so that a gateway that lets no client wait is not asked in a loop.
 */
export async function callWaiting(
  container: RemoteContainer,
  callOf: (timeoutMs: number) => ExtensionCall,
  {
    timeoutMs,
    restMs,
    signal,
    ...options
  }: {
    readonly timeoutMs: number
    readonly restMs: number
    readonly signal: AbortSignal
  } & Pick<CallOptions, 'range' | 'sessionToken'>,
): Promise<string> {
  const { clock } = container.connection
  const deadlineMs = clock.monotonicMs() + timeoutMs
  for (;;) {
    const leftMs = Math.ceil(deadlineMs - clock.monotonicMs())
    if (leftMs <= 0) return NOTHING_CAME
    const askedMs = Math.min(leftMs, LONGEST_WAIT_MS)
    const askedAtMs = clock.monotonicMs()
    const call = callOf(askedMs)
    const came = await callForText(container, call, { ...options, signal, waitMs: askedMs })
    if (came !== NOTHING_CAME) return came
    const tookMs = clock.monotonicMs() - askedAtMs
    if (tookMs < Math.min(restMs, askedMs)) {
      await clock.sleep(Math.min(restMs, leftMs) - tookMs, signal)
    }
  }
}

/** Answer of a wait that was in vain. */
export const NOTHING_CAME = 'false'

/** Below what proxies on the way let a connection be silent for. */
const LONGEST_WAIT_MS = 25_000

/** @throws ERR_SERVER_UNSUPPORTED, ERR_INVALID_CONTINUATION */
export function positionOf(value: unknown): FeedPosition {
  if (isJsonRecord(value)) {
    const { continuation, lsn: at } = value
    if (typeof continuation === 'string' && typeof at === 'number') {
      return { continuation: encodeContinuation(decodeContinuation(continuation)), lsn: lsn(at) }
    }
  }
  throw notOurs('position')
}

/** An answer that a gateway of this release would not give. */
export function notOurs(what: string): UnsupportedServerError {
  return new UnsupportedServerError(
    `the gateway's answer is no ${what}: it may be of another release than this client`,
  )
}
