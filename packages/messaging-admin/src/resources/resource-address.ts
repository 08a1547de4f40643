import type { SubscriptionName } from '@tidemark/messaging'
import { withoutSlashes } from '@tidemark/messaging/front'
import { InvalidRequestError } from '../errors/invalid-request-error.ts'
import { decodedPath } from '../descriptions/destination.ts'

/** What the path of a URL names. Names of queues and topics may have slashes. */
export type ResourceAddress =
  | { readonly kind: 'namespace' }
  | { readonly kind: 'queues' }
  | { readonly kind: 'topics' }
  | { readonly kind: 'entity'; readonly path: string }
  | { readonly kind: 'subscriptions'; readonly topic: string }
  | { readonly kind: 'subscription'; readonly name: SubscriptionName }
  | { readonly kind: 'rules'; readonly name: SubscriptionName }
  | { readonly kind: 'rule'; readonly name: SubscriptionName; readonly rule: string }

/** Undefined where nothing can be. @throws ERR_INVALID_REQUEST for a path that is not encoded rightly */
export function parseAddress(rawPath: string): ResourceAddress | undefined {
  const decoded = decodedPath(rawPath)
  if (decoded === undefined) {
    throw new InvalidRequestError('The path of the URL is not percent-encoded rightly.')
  }
  const path = withoutSlashes(decoded)
  const segments = path.split('/')
  const at = segments.findIndex((segment) => isWord(segment, 'subscriptions'))
  if (at >= 1) return withinTopic(segments.slice(0, at).join('/'), segments.slice(at + 1))
  const [first = '', second = '', ...others] = segments
  if (isWord(first, '$namespaceinfo') && segments.length === 1) return { kind: 'namespace' }
  if (isWord(first, '$resources')) {
    if (others.length > 0) return undefined
    if (isWord(second, 'queues')) return { kind: 'queues' }
    return isWord(second, 'topics') ? { kind: 'topics' } : undefined
  }
  return path === '' ? undefined : { kind: 'entity', path }
}

function withinTopic(
  topic: string,
  [subscription, rules, ...rule]: readonly string[],
): ResourceAddress | undefined {
  if (subscription === undefined) return { kind: 'subscriptions', topic }
  const name = { topic, subscription }
  if (rules === undefined) return { kind: 'subscription', name }
  if (!isWord(rules, 'rules')) return undefined
  return rule.length === 0 ? { kind: 'rules', name } : { kind: 'rule', name, rule: rule.join('/') }
}

function isWord(segment: string, word: string): boolean {
  return segment.toLowerCase() === word
}
