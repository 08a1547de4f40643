import type { ChangeFeedSource, DocumentBody } from '@tidemark/contracts'
import type { CosmosConnection } from './cosmos-connection.ts'
import { resolveFeedOptions, type OpenFeedOptions } from './feed-options.ts'
import { RemoteContainer } from './remote-container.ts'
import { TidemarkChangeFeed } from './tidemark-change-feed.ts'

/**
 * Looks up a collection at a Tidemark gateway, and returns its change feed for `ChangeFeedProcessorHost`, with everything that
 * the store's own feed has. That of an Azure Cosmos DB account is `cosmosFeed` of `@tidemark/cosmos`.
 *
 * Rejects with ERR_INVALID_OPTION, ERR_NOT_FOUND, ERR_UNAUTHORIZED, ERR_FORBIDDEN, ERR_STORE_UNAVAILABLE, and with
 * ERR_SERVER_UNSUPPORTED at a server of another kind.
 */
export async function openChangeFeed<T extends DocumentBody = DocumentBody>(
  connection: CosmosConnection,
  options: OpenFeedOptions,
): Promise<ChangeFeedSource<T>> {
  const { database, container, signal } = options
  const resolved = resolveFeedOptions(options)
  const remote = new RemoteContainer(connection, { database, container })
  const facts = await remote.facts(signal)
  return new TidemarkChangeFeed<T>(remote, facts, resolved)
}
