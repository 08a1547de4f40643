import type { MessageBroker } from '@tidemark/messaging'
import type { ResourceAddress } from './resource-address.ts'
import { StoredResources } from './stored-resources.ts'

/** False where nothing can be deleted. Rejects with what the broker refuses. */
export async function deleteResource(
  address: ResourceAddress,
  broker: MessageBroker,
): Promise<boolean> {
  switch (address.kind) {
    case 'entity': {
      const stored = await StoredResources.read(broker.front())
      const { kind, path } = stored.entity(address.path)
      await (kind === 'topic' ? broker.deleteTopic(path) : broker.deleteQueue(path))
      return true
    }
    case 'subscription':
      await broker.deleteSubscription(address.name)
      return true
    case 'rule':
      await broker.deleteRule(address.name, address.rule)
      return true
    default:
      return false
  }
}
