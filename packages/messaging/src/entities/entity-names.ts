import { describeValue } from '@tidemark/contracts/internal'

export const MAX_PATH_CHARACTERS = 260
const MAX_NAME_CHARACTERS = 50
const SUBSCRIPTIONS = 'Subscriptions'
const DEAD_LETTER_QUEUE = '$DeadLetterQueue'

/** What is wrong with the name of a queue or topic, to stand behind what it names; undefined: nothing. */
export function problemOfPath(name: unknown): string | undefined {
  const problem = problemOfText(name, MAX_PATH_CHARACTERS, /^[a-z0-9._/~-]+$/i)
  if (problem !== undefined || typeof name !== 'string') return problem
  const segments = name.split('/')
  if (segments.includes('')) {
    return `must not begin or end with a slash, or have two in a row, got ${describeValue(name)}`
  }
  if (segments.some((segment) => isSameName(segment, SUBSCRIPTIONS))) {
    return `must not have a segment "${SUBSCRIPTIONS}", got ${describeValue(name)}`
  }
  return undefined
}

export function problemOfSubscriptionName(name: unknown): string | undefined {
  return problemOfText(name, MAX_NAME_CHARACTERS, /^[a-z0-9._-]+$/i)
}

/** `$Default` is the only name with a dollar sign. */
export function problemOfRuleName(name: unknown): string | undefined {
  if (typeof name === 'string' && isSameName(name, '$Default')) return undefined
  return problemOfText(name, MAX_NAME_CHARACTERS, /^[a-z0-9._/-]+$/i)
}

/** Names and paths are compared without regard to case. */
export function isSameName(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase()
}

export function subscriptionPath(topic: string, subscription: string): string {
  return `${topic}/${SUBSCRIPTIONS}/${subscription}`
}

/** The last segment of a subscription's path. */
export function subscriptionName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

/** The topic and the rest of a subscription's path, or of its dead-letter queue's; else the path. */
export function destinationOf(path: string): {
  readonly destination: string
  readonly subscription: string | undefined
} {
  const segments = path.split('/')
  const at = segments.findIndex((segment) => isSameName(segment, SUBSCRIPTIONS))
  if (at === -1) return { destination: path, subscription: undefined }
  const [topic, name] = [segments.slice(0, at), segments.slice(at + 1)]
  return { destination: topic.join('/'), subscription: name.join('/') }
}

export function deadLetterPath(owner: string): string {
  return `${owner}/${DEAD_LETTER_QUEUE}`
}

export function isDeadLetterPath(path: string): boolean {
  return isSameName(path.slice(path.lastIndexOf('/') + 1), DEAD_LETTER_QUEUE)
}

function problemOfText(name: unknown, maxCharacters: number, allowed: RegExp): string | undefined {
  if (typeof name !== 'string') return `must be a text, got ${describeValue(name)}`
  if (name === '' || name.length > maxCharacters) {
    return `must have 1 to ${maxCharacters} characters, got ${name.length}`
  }
  if (allowed.test(name)) return undefined
  const others = ['/', '~'].filter((other) => allowed.test(other)).map((other) => ` ${other}`)
  return `may have letters, digits and . - _${others.join('')} only, got ${describeValue(name)}`
}
