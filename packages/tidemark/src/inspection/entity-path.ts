import type { SubscriptionName } from '@tidemark/messaging'

/** The path of a queue or topic, or a subscription, by a path such as `topic/Subscriptions/name`. Undefined: it is none. */
export function entityOfPath(path: string): string | SubscriptionName | undefined {
  const segments = path.split('/')
  if (segments.includes('')) return undefined
  const subscription = segments.at(-1)
  const isSubscription = segments.length > 2 && segments.at(-2)?.toLowerCase() === 'subscriptions'
  if (!isSubscription || subscription === undefined) return path
  return { topic: segments.slice(0, -2).join('/'), subscription }
}
