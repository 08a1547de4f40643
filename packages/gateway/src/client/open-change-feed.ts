import type { ChangeFeedSource, DocumentBody } from '@tidemark/contracts'
import type { CosmosConnection } from './cosmos-connection.ts'
import { CosmosChangeFeed } from './cosmos-change-feed.ts'
import { resolveFeedOptions, type OpenFeedOptions } from './feed-options.ts'
import { RemoteContainer } from './remote-container.ts'
import { TidemarkChangeFeed } from './tidemark-change-feed.ts'

/**
 * Looks up a container over HTTP, and returns its change feed for `ChangeFeedProcessorHost`: with everything that the
 * store's own feed has if the server is a Tidemark gateway, else with what the service's protocol offers.
 *
 * Rejects with ERR_INVALID_OPTION, ERR_NOT_FOUND, ERR_UNAUTHORIZED, ERR_FORBIDDEN, ERR_STORE_UNAVAILABLE.
 */
export async function openChangeFeed<T extends DocumentBody = DocumentBody>(
  connection: CosmosConnection,
  options: OpenFeedOptions,
): Promise<ChangeFeedSource<T>> {
  const { database, container, signal } = options
  const resolved = resolveFeedOptions(options)
  const remote = new RemoteContainer(connection, { database, container })
  const facts = await remote.facts(signal)
  return facts.hasExtensions
    ? new TidemarkChangeFeed<T>(remote, facts, resolved)
    : new CosmosChangeFeed<T>(remote, facts, resolved)
}
