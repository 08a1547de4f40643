import { readFileSync } from 'node:fs'
import { CosmosClient } from '@azure/cosmos'
import { cosmosDocuments } from '@tidemark/cosmos'
import { collectionConformance } from '@tidemark/testing/conformance'
import { beforeEach } from 'vitest'
import { TEST_KEY, gatewayUnderTest } from '../gateway-client/gateway-under-test.fixture.ts'
import { storeByClient } from '../gateway-client/store-over-http.fixture.ts'

/** Features that the official client has, and the cases of them that it cannot pass, by the reason. */
const { features, except } = JSON.parse(
  readFileSync(new URL('by-client.json', import.meta.url), 'utf8'),
) as { readonly features: readonly string[]; readonly except: Readonly<Record<string, string[]>> }

beforeEach(({ task, skip }) => {
  skip(!features.includes(task.suite?.name ?? ''), 'done in process')
  for (const [reason, names] of Object.entries(except)) skip(names.includes(task.name), reason)
})

// What every collection must do with documents, by the official client. The feed has cases of its own.
collectionConformance({
  name: 'documents by @azure/cosmos',
  async open({ clock, maintenance }) {
    const under = await gatewayUnderTest({ clock, maintenance })
    const client = new CosmosClient({ endpoint: under.gateway.endpoint, key: TEST_KEY })
    return {
      store: storeByClient(under.store, ({ database, container }) => ({
        documents: cosmosDocuments(client.database(database).container(container)),
      })),
      async dispose() {
        client.dispose()
        await under[Symbol.asyncDispose]()
      },
    }
  },
})
