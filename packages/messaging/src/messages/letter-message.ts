import {
  feedRangeId,
  InvalidDocumentError,
  lsn,
  parseFeedRangeId,
  type DeadLetter,
  type DocumentBody,
  type RecordedError,
} from '@tidemark/contracts'
import {
  changeEpk,
  murmur3x64,
  parseChange,
  storableChange,
  type StorableChange,
} from '@tidemark/contracts/internal'
import type { StoredValue } from '@tidemark/store/messages'
import type { Message } from './message.ts'

/** The body of a message that holds a processor's dead letter. */
export interface LetterBody extends Omit<DeadLetter, 'range' | 'change'> {
  readonly range: string
  readonly change: StorableChange
}

/** Whose letter a message is, which is known without its body. */
export interface LetterAddress {
  readonly group: string
  /** Effective partition key of the change: tells whose range it is in. */
  readonly epk: string
}

/** The longest id of a message and of a session. */
const MAX_ID_CHARACTERS = 128
const HASH_CHARACTERS = 32

/** Of a letter's message, and of its session: each letter is one, so that its lock is nobody else's. */
export function letterSession({ id }: Pick<DeadLetter, 'id'>): string {
  if (id.length <= MAX_ID_CHARACTERS) return id
  const hash = Array.from(murmur3x64(new TextEncoder().encode(id)), (word) =>
    word.toString(16).padStart(8, '0'),
  )
  return id.slice(0, MAX_ID_CHARACTERS - HASH_CHARACTERS) + hash.join('')
}

/** `keyVersion`: of the hash of the monitored collection's partition key. */
export function letterMessage(letter: DeadLetter, keyVersion: 1 | 2): Message<LetterBody> {
  const { range, change, error, group, feed } = letter
  const session = letterSession(letter)
  return {
    body: { ...letter, range: feedRangeId(range), change: storableChange(change) },
    messageId: session,
    sessionId: session,
    subject: error.name,
    applicationProperties: {
      group,
      feed,
      epk: changeEpk(change, keyVersion),
      lsn: letter.lsn,
      id: change.id,
      ...(error.code === undefined ? {} : { code: error.code }),
    },
  }
}

/** Undefined: the message is no letter. */
export function letterAddress(
  properties: Readonly<Record<string, StoredValue>> = {},
): LetterAddress | undefined {
  const { group, epk } = properties
  return typeof group === 'string' && typeof epk === 'string' ? { group, epk } : undefined
}

/** @throws ERR_INVALID_DOCUMENT when it is no letter of this release */
export function parseLetter<T extends DocumentBody>(body: unknown): DeadLetter<T> {
  const range = isLetterBody(body) ? parseFeedRangeId(body.range) : undefined
  if (!isLetterBody(body) || range === undefined) {
    throw new InvalidDocumentError('a message holds a dead letter that this release cannot read')
  }
  const { id, group, feed, error, attempts, hostName, failedAtMs } = body
  const known = { id, group, feed, error, attempts, hostName, failedAtMs }
  return { ...known, range, lsn: lsn(body.lsn), change: parseChange<T>(body.change) }
}

function isLetterBody(value: unknown): value is LetterBody {
  return (
    isObject(value) &&
    ['id', 'group', 'feed', 'range', 'hostName'].every((name) => isText(value, name)) &&
    Number.isSafeInteger(Reflect.get(value, 'lsn')) &&
    ['attempts', 'failedAtMs'].every((name) => typeof Reflect.get(value, name) === 'number') &&
    isError(Reflect.get(value, 'error'))
  )
}

function isError(value: unknown): value is RecordedError {
  return isObject(value) && isText(value, 'name') && isText(value, 'message')
}

function isText(value: object, name: string): boolean {
  return typeof Reflect.get(value, name) === 'string'
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
